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
  calls: number;
  /** what the last call brought */
  data: Uint8Array;
  /** what the component has not been updated with yet */
  next: Payload<any> | null;
}

/**
 * The function that Streamlit calls, for components that `make` makes. Streamlit calls with every change of theme too;
 * then the data is not new. While a component is being made, only the last call counts.
 */
export function mounting(make: Make, server: string) {
  const mounted: WeakMap<HTMLElement, Mounted> = new WeakMap();

  const create = ({ data, parentElement }: Call): Mounted => {
    const payload = readPayload(data);
    const created: Mounted = { component: null, host: new AppHost(server), calls: 0, data, next: payload };
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

  return (call: Call) => {
    const { data, parentElement, setTriggerValue } = call;
    const known = mounted.get(parentElement) ?? create(call);
    known.calls += 1;
    known.host.setTriggerValue = setTriggerValue;
    if (data !== known.data) Object.assign(known, { data, next: readPayload(data) });
    const { calls } = known;
    update(known);
    return () => {
      // Streamlit may run the clean-up of a call that a later one has already overtaken: only the last one counts.
      if (known.calls !== calls || mounted.get(parentElement) !== known) return;
      mounted.delete(parentElement);
      known.component?.destroy();
    };
  };
}

function update(known: Mounted) {
  const { component, next } = known;
  if (!component) return;
  known.next = null;
  component.update(next);
}
