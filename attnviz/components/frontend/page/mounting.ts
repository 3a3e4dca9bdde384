// The lifecycle of a component: created once per element, updated with new data, destroyed when it is removed.

import { readPayload } from "../core/payload.ts";
import { AppHost } from "./host.ts";
import type { SetTriggerValue } from "./host.ts";

export type Call = { data: Uint8Array; parentElement: HTMLElement; setTriggerValue: SetTriggerValue };
export type Make = (payload: Payload<any>, parentElement: HTMLElement, host: Host) => Promise<Component>;
interface Mounted {
  /** null until its module has come */
  component: Component | null;
  host: AppHost;
  /** what the last call brought */
  data: Uint8Array;
  /** what the component has not been updated with yet */
  next: Payload<any> | null;
}

/**
 * The function that Streamlit calls, for components that `make` makes. Streamlit calls with every change of theme too;
 * then the data is not new. While a component is being made, only the last call counts.
 *
 * On a slow machine a call can come when Streamlit has given it up for a later one, which is on its way. Streamlit then
 * runs its clean-up at once. What was chosen and not sent yet, or not acknowledged, would end with the component. So it
 * ends with its element only. Streamlit may not tell of that: each call and each clean-up looks for those
 * that are gone.
 */
export function mounting(make: Make, server: string) {
  const mounted: Map<HTMLElement, Mounted> = new Map();

  const create = ({ data, parentElement }: Call): Mounted => {
    const payload = readPayload(data);
    const created: Mounted = { component: null, host: new AppHost(server), data, next: payload };
    mounted.set(parentElement, created);
    make(payload, parentElement, created.host).then(
      (component) => {
        created.component = component;
        if (mounted.get(parentElement) === created) update(created);
        else component.destroy();
      },
      (error) => {
        mounted.delete(parentElement); // the next call tries again
        throw error;
      },
    );
    return created;
  };

  const endThoseGone = () => {
    for (const [parent, { component }] of mounted) {
      if (parent.isConnected) continue;
      mounted.delete(parent);
      try {
        component?.destroy();
      } catch (error) {
        reportError(error); // the others end all the same
      }
    }
  };

  return (call: Call) => {
    endThoseGone();
    const { data, parentElement, setTriggerValue } = call;
    const known = mounted.get(parentElement) ?? create(call);
    known.host.setTriggerValue = setTriggerValue;
    if (data !== known.data) Object.assign(known, { data, next: readPayload(data) });
    update(known);
    return endThoseGone;
  };
}

function update(known: Mounted) {
  const { component, next } = known;
  if (!component) return;
  known.next = null;
  component.update(next);
}
