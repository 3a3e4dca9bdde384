// The walk as a widget of a notebook; attnviz/notebook/widgets.py is its other side.

import { sourceOf } from "../core/arrays.ts";
import { read } from "../core/document.ts";
import { Walk } from "../walk/walk.ts";
import { bytesOf, NotebookHost } from "./host.ts";
import { Place } from "./place.ts";

const NAMES = ["step", "layer", "head", "q", "k"];

function render({ model, el }: { model: WidgetModel; el: HTMLElement }) {
  const place = new Place(el, String(model.get("_styles")));
  const host = new NotebookHost(model, NAMES);
  const layers = model.get("_layers") as number[];
  const walk = new Walk(place.root, {
    source: sourceOf(host),
    documents: Object.fromEntries(layers.map((layer) => [layer, `document-${layer}`])),
    layers,
    changed: (values) => host.send({ values }),
  });
  place.onTheme = () => walk.setTheme();
  walk.setTheme();
  const follow = () => walk.show(host.chosen);
  host.follow(follow);
  walk.show(host.chosen, read(bytesOf(model.get("_document") as DataView)));
  follow(); // the layer may be another one by now
  return () => {
    host.destroy();
    walk.destroy();
    place.destroy();
  };
}

export default { render };
