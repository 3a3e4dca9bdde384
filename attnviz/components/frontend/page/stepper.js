// The stepper as a component of its own: what there is comes from the server, which hears of the choices.

import { theme } from "../core/dom.js";
import { unpack } from "../core/packing.js";
import { PendingUpdates } from "../core/pending_updates.js";
import { Stepper } from "../walk/stepper.js";

/** A page whose steps are not those of heads has nothing else to choose from. */
const NOTHING_ELSE = { layers: 0, heads: [], layerLabel: "", place: "", switches: [] };
const ACT = "attnviz-act"; // the event of the page's shortcuts

class StepperComponent {
  /** @param {HTMLElement} root */
  constructor(root) {
    /** @type {SetTriggerValue} */
    this.setTriggerValue = () => {};
    this.updates = new PendingUpdates(
      (message) => this.setTriggerValue("updates", message),
      /** @type {Record<string, string>} */ ({}),
    );
    this.stepper = new Stepper(root, { onChoice: (name, value) => this.updates.set({ [name]: value }) });
    /** @type {Theme | null} */
    this.shade = null;
    this.ends = new AbortController();
    window.addEventListener(ACT, (event) => this.asked(/** @type {CustomEvent<string>} */ (event)), {
      signal: this.ends.signal,
    });
  }

  /** @param {Uint8Array} data @param {SetTriggerValue} setTriggerValue @param {boolean} isNew */
  update(data, setTriggerValue, isNew) {
    this.setTriggerValue = setTriggerValue;
    const shade = theme(this.stepper.section);
    if (!isNew && shade === this.shade) return;
    this.shade = shade;
    /** @type {Payload<StepperHeader>} */
    const { header } = unpack(data);
    const { steps, drawings } = header;
    this.stepper.offer({ ...NOTHING_ELSE, steps, drawings }, {}, shade);
    this.updates.receive(header.chosen, header.acknowledged);
    this.stepper.select(this.updates.values);
  }

  /**
   * Handles a shortcut of the page here if possible, without a request to the server.
   * @param {CustomEvent<string>} event
   */
  asked(event) {
    if (this.stepper.act(event.detail)) event.preventDefault();
  }

  destroy() {
    this.ends.abort();
    this.updates.destroy();
    this.stepper.destroy();
  }
}

export default StepperComponent;
