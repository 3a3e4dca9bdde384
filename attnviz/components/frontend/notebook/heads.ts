// All heads as a widget of a notebook; attnviz/notebook/widgets.py is its other side.

import { readPayload } from "../core/payload.ts";
import { only } from "../heads/choice.ts";
import { Explorer } from "../heads/explorer.ts";
import { bytesOf, NotebookHost } from "./host.ts";
import { Place } from "./place.ts";

const NAMES = ["layer", "head", "q", "k"];

function render({ model, el }: { model: WidgetModel; el: HTMLElement }) {
  const place = new Place(el, String(model.get("_styles")));
  const payload: Payload<ExplorerHeader> = readPayload(bytesOf(model.get("_payload") as DataView));
  const shared = model.get("_shared") as DataView<ArrayBuffer>;
  const host = new NotebookHost(model, NAMES, { [payload.header.files.shared]: shared });
  const explorer = new Explorer(place.root, host);
  place.onTheme = () => explorer.update(null);
  host.follow(() => explorer.change(changes(host.chosen, explorer.updates.values)));
  const view = { ...payload.header.view, ...changes(host.chosen, payload.header.view) };
  explorer.update({ ...payload, header: { ...payload.header, view } });
  return () => {
    host.destroy();
    explorer.destroy();
    place.destroy();
  };
}

/** What the traits change in a view: another head is chosen alone. */
function changes({ layer = 0, head = 0, q, k }: Partial<HeadsView>, view: HeadsView): Partial<HeadsView> {
  const isOther = layer !== view.layer || head !== view.head;
  return { q, k, ...(isOther && only([layer, head])) };
}

export default { render };
