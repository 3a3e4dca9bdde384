// All heads as a widget of a notebook; attnviz/notebook/widgets.py is its other side.

import { readPayload } from "../core/payload.ts";
import { only } from "../heads/choice.ts";
import { Explorer } from "../heads/explorer.ts";
import { Place } from "./place.ts";
import { bytesOf, Requests } from "./requests.ts";
import { chosen, followTraits, tell } from "./traits.ts";

const NAMES = ["layer", "head", "q", "k"];

function render({ model, el }: { model: WidgetModel; el: HTMLElement }) {
  const place = new Place(el, String(model.get("_styles")));
  const requests = new Requests(model);
  const payload: Payload<ExplorerHeader> = readPayload(bytesOf(model.get("_payload") as DataView));
  const { shared } = payload.header.files;
  const explorer = new Explorer(place.root, async (name) => {
    const isHere = name === shared;
    return new Response(isHere ? (model.get("_shared") as DataView<ArrayBuffer>) : await ask(name));
  });
  const ask = (file: string) => requests.ask({ file });
  explorer.setTriggerValue = (_, message) => {
    const { number, values } = message as Message;
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

/** What the traits change in a view: another head is chosen alone. */
function changes({ layer = 0, head = 0, q, k }: Partial<HeadsView>, view: HeadsView): Partial<HeadsView> {
  const isOther = layer !== view.layer || head !== view.head;
  return { q, k, ...(isOther && only([layer, head])) };
}

export default { render };
