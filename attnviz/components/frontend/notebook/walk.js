// The walk as a widget of a notebook; attnviz/notebook/widgets.py is its other side.

import { read } from "../core/document.js";
import { Walk } from "../walk/walk.js";
import { Place } from "./place.js";
import { bytesOf, Requests } from "./requests.js";
import { chosen, followTraits, tell } from "./traits.js";

const NAMES = ["step", "layer", "head", "q", "k"];
/** @type {Record<string, typeof Float32Array | typeof Uint8Array>} */
const TYPES = { F32: Float32Array, BOOL: Uint8Array, U8: Uint8Array };

/** @param {{ model: WidgetModel, el: HTMLElement }} given */
function render({ model, el }) {
  const place = new Place(el, String(model.get("_styles")));
  const requests = new Requests(model);
  const walk = new Walk(place.root, {
    layers: /** @type {number[]} */ (model.get("_layers")),
    load: async (layer) => read(await requests.ask({ layer })),
    array: async ({ digest, dtype, shape }) => {
      const { buffer } = await requests.ask({ array: digest });
      return { data: new TYPES[dtype](buffer), shape, dtype };
    },
    changed: (values) => tell(model, NAMES, values),
  });
  place.onTheme = () => walk.setTheme();
  walk.setTheme();
  const follow = () => walk.show(chosen(model, NAMES));
  const end = followTraits(model, NAMES, follow);
  walk.show(chosen(model, NAMES), read(bytesOf(/** @type {DataView} */ (model.get("_document")))));
  follow(); // the layer may be another one by now
  return () => {
    end();
    requests.destroy();
    walk.destroy();
    place.destroy();
  };
}

export default { render };
