// The walk as a widget of a notebook; attnviz/notebook/widgets.py is its other side.

import { read } from "../core/document.ts";
import { readSafetensors } from "../core/safetensors.ts";
import { Walk } from "../walk/walk.ts";
import { Place } from "./place.ts";
import { bytesOf, Requests } from "./requests.ts";
import { chosen, followTraits, tell } from "./traits.ts";

const NAMES = ["step", "layer", "head", "q", "k"];

function render({ model, el }: { model: WidgetModel; el: HTMLElement }) {
  const place = new Place(el, String(model.get("_styles")));
  const requests = new Requests(model);
  const walk = new Walk(place.root, {
    layers: model.get("_layers") as number[],
    load: async (layer) => read(await requests.ask({ layer })),
    array: async ({ digest }) => readSafetensors(await requests.ask({ array: digest })).arrays.array,
    changed: (values) => tell(model, NAMES, values),
  });
  place.onTheme = () => walk.setTheme();
  walk.setTheme();
  const follow = () => walk.show(chosen(model, NAMES));
  const end = followTraits(model, NAMES, follow);
  walk.show(chosen(model, NAMES), read(bytesOf(model.get("_document") as DataView)));
  follow(); // the layer may be another one by now
  return () => {
    end();
    requests.destroy();
    walk.destroy();
    place.destroy();
  };
}

export default { render };
