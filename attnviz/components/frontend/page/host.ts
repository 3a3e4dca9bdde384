// The app as the host of a view: its files come from the server, and Streamlit carries messages there.

import { afterWaiting } from "../core/waiting.ts";

/** Sends a value to the server under a name. */
export type SetTriggerValue = (name: string, value: unknown) => void;

export class AppHost implements Host {
  server: string;
  /** of the last call of Streamlit's */
  setTriggerValue: SetTriggerValue = () => {};

  constructor(server: string) {
    this.server = server;
  }

  request(digest: string) {
    return fetch(`${this.server}/attnviz/arrays/${digest}`);
  }

  send(message: Message) {
    this.say("updates", message);
    return false;
  }

  say(name: string, value: unknown) {
    afterWaiting(() => this.setTriggerValue(name, value));
  }
}
