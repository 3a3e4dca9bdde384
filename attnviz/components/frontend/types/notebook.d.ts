// The browser's side of an anywidget, as far as it is used: https://anywidget.dev/en/afm

interface WidgetModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: Record<string, unknown>): void;
  on(event: string, called: (...given: any[]) => void): void;
  off(event: string, called: (...given: any[]) => void): void;
}
