// Shares the view: its address, as in the browser (so that it is correct behind a proxy), to copy or as a QR code.

import { whole } from "../core/format.ts";
import { element, setAttributes, svgElement } from "../core/dom.ts";

const LONG = 2000; // characters that mail and chat programs carry without cutting
const MOVED = "currententrychange"; // the Navigation API's event of each change of the address in this document
const SETTLED = 200; // ms after a change until it is sent: what Streamlit sends about it comes first
const TOUCHES = ["focusin", "pointerenter"]; // when the address is read again in browsers without that API
const QUIET = 4; // white modules around a QR code (ISO/IEC 18004, section 6.3.8)
const SHOWN = 160; // characters of an address under the code
const LOCAL = ["localhost", "127.0.0.1", "[::1]"];

class Share {
  host: Host;
  address = "";
  following: number | undefined;
  /** the address that a code was asked for */
  asked: string | null = null;
  known: { address: string; modules?: Packed; sentence: string } = { address: "", sentence: "" };
  field = element("input", { type: "text", readOnly: true, "aria-label": "Address of this view" });
  copyButton = element("button", { type: "button", class: "copy", onclick: () => this.copy() }, "Copy the link");
  codeButton = element("button", { type: "button", class: "code", onclick: () => this.ask() }, "Show a QR code");
  said = element("p", { class: "said", role: "status" });
  length = element("p", { class: "length" });
  local = element("p", { class: "local" });
  /** this machine's name for others; "" if the server does not listen for them */
  machine = "";
  code: SVGSVGElement;
  under = element("p", { class: "under", dir: "ltr" });
  dialog: HTMLDialogElement;
  section: HTMLElement;
  ends = new AbortController();

  constructor(root: HTMLElement, host: Host) {
    this.host = host;
    this.field.addEventListener("focus", () => this.field.select());
    this.code = svgElement("svg");
    this.dialog = this.makeDialog();
    this.section = element(
      "section",
      { class: "share" },
      this.field,
      element("div", { class: "buttons" }, this.copyButton, this.codeButton),
      this.said,
      this.length,
      this.local,
      this.dialog,
    );
    root.append(this.section);
    this.watch(this.ends.signal);
    this.read();
  }

  /** Reads the address whenever it may have changed. */
  watch(signal: AbortSignal) {
    const read = () => this.read();
    if (window.navigation) window.navigation.addEventListener(MOVED, read, { signal });
    else for (const kind of TOUCHES) this.section.addEventListener(kind, read, { signal });
  }

  makeDialog() {
    const close = element("button", { type: "button", class: "close", onclick: () => this.dialog.close() }, "Close");
    this.code.setAttribute("role", "img");
    this.code.setAttribute("shape-rendering", "crispEdges");
    const dialog = element("dialog", { "aria-label": "QR code of this view" }, this.code, this.under, close);
    // The page's own keys (steps, heads) must not act on the picture behind the code.
    dialog.addEventListener("keydown", (event) => dialog.open && event.stopPropagation());
    return dialog;
  }

  update(payload: Payload<ShareHeader> | null) {
    if (!payload) return;
    const { header, arrays } = payload;
    this.known = { address: header.address, modules: arrays.modules, sentence: header.sentence };
    this.machine = header.host;
    this.sayLocal();
    if (this.asked && this.asked === header.address) this.show();
  }

  /** Takes the address from the browser, and says what is to be said about it. */
  read() {
    const { href, hostname } = window.location;
    if (href === this.address) return;
    if (this.address) this.follow(href);
    this.address = href;
    this.field.value = href;
    this.said.textContent = "";
    const long = href.length > LONG;
    const count = `${whole(href.length)} characters`;
    this.length.textContent = long
      ? `${count}: too long for mail and chat, which may cut it. Send the scene file instead.`
      : `${count}. It opens this view, with the same numbers, in any browser.`;
    this.length.classList.toggle("long", long);
    this.local.hidden = !LOCAL.includes(hostname);
    this.sayLocal();
  }

  /** On an address of this machine alone: the address for others, where the server knows it. */
  sayLocal() {
    if (!this.machine) {
      this.local.textContent = "Only on this computer: the server does not listen for others.";
      return;
    }
    const others = new URL(this.address);
    others.hostname = this.machine.includes(":") ? `[${this.machine}]` : this.machine;
    this.local.replaceChildren("Only on this computer. For others: ", element("a", { href: others.href }, others.href));
  }

  /** Lets the scene file follow. */
  follow(address: string) {
    clearTimeout(this.following);
    this.following = setTimeout(() => this.host.say("moved", address), SETTLED);
  }

  async copy() {
    this.read();
    const done = await written(this.address, this.field);
    this.said.textContent = done ? "Copied." : "The browser does not allow it: the address is marked, copy it by hand.";
  }

  ask() {
    this.read();
    this.asked = this.address;
    if (this.known.address === this.asked) {
      this.show();
    } else {
      this.codeButton.disabled = true;
      this.host.say("code", this.asked);
    }
  }

  show() {
    const { address, modules, sentence } = this.known;
    this.asked = null;
    this.codeButton.disabled = false;
    this.said.textContent = sentence;
    if (modules) this.draw(address, modules);
  }

  draw(address: string, { data, shape: [size] }: Packed) {
    const side = size + 2 * QUIET;
    const label = `QR code of ${address}`;
    setAttributes(this.code, { viewBox: `0 0 ${side} ${side}`, "aria-label": label, "data-size": size });
    this.code.replaceChildren(svgElement("path", { d: runs(data, size) }));
    this.under.textContent = address.length > SHOWN ? `${address.slice(0, SHOWN)}…` : address;
    this.dialog.showModal();
  }

  destroy() {
    this.ends.abort();
    clearTimeout(this.following);
    this.section.remove();
  }
}

/** The dark modules as one path: a rectangle for each run in a row. */
function runs(dark: Numbers, size: number) {
  let path = "";
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      if (!dark[y * size + x]) continue;
      const start = x;
      while (x < size && dark[y * size + x]) x += 1;
      path += `M${start + QUIET} ${y + QUIET}h${x - start}v1h${start - x}z`;
    }
  }
  return path;
}

/**
 * Copies text; pages served without https have no clipboard of their own, so there the marked field is copied.
 */
async function written(text: string, field: HTMLInputElement) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    field.focus();
    field.select();
    return document.execCommand("copy");
  }
}

export default Share;
