// All heads as a widget of a notebook; attnviz/notebook/widgets.py is its other side.

import { unpack } from "../core/packing.js";
import { only } from "../heads/choice.js";
import { Explorer } from "../heads/explorer.js";
import { Place } from "./place.js";
import { bytesOf, Requests } from "./requests.js";
import { chosen, followTraits, tell } from "./traits.js";

const NAMES = ["layer", "head", "q", "k"];

/** @param {{ model: WidgetModel, el: HTMLElement }} given */
function render({ model, el }) {
  const place = new Place(el, String(model.get("_styles")));
  const requests = new Requests(model);
  /** @type {Payload<ExplorerHeader>} */
  const payload = unpack(bytesOf(/** @type {DataView} */ (model.get("_payload"))));
  const { shared } = payload.header.files;
  const explorer = new Explorer(place.root, async (name) => {
    const isHere = name === shared;
    return new Response(isHere ? /** @type {DataView<ArrayBuffer>} */ (model.get("_shared")) : await ask(name));
  });
  const ask = (/** @type {string} */ file) => requests.ask({ file });
  explorer.setTriggerValue = (_, message) => {
    const { number, values } = /** @type {Message} */ (message);
    tell(model, NAMES, values);
    explorer.acknowledge(number);
  };
  place.onTheme = () => explorer.show(null);
  const follow = () => explorer.change(changes(chosen(model, NAMES), explorer.updates.values));
  const end = followTraits(model, NAMES, follow);
  const view = { ...payload.header.view, ...changes(chosen(model, NAMES), payload.header.view) };
  explorer.show({ ...payload, header: { ...payload.header, view } });
  return () => {
    end();
    requests.destroy();
    explorer.destroy();
    place.destroy();
  };
}

/**
 * What the traits change in a view: another head is chosen alone.
 * @param {Partial<HeadsView>} traits @param {HeadsView} view @returns {Partial<HeadsView>}
 */
function changes({ layer = 0, head = 0, q, k }, view) {
  const isOther = layer !== view.layer || head !== view.head;
  return { q, k, ...(isOther && only([layer, head])) };
}

export default { render };
