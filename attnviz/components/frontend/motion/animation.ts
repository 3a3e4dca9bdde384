// The motion of a step on a slide, and below it what is being computed.

import { animated, Slide } from "./slide.ts";

/** @param host the board's, whose font the slide has */
export function animationOf(
  host: HTMLElement,
  { header, timeline, theme, title }: { header: StageHeader; timeline: Timeline; theme: Theme; title: string },
): PageAnimation {
  const slide = new Slide(host, { theme, hasTitle: Boolean(title), lines: 1 });
  slide.take(header);
  return animated(slide, timeline.ms, (t) => {
    const frame = t < 1 ? timeline.at(t) : null;
    slide.draw(frame, { title, says: frame?.says ?? [] });
  });
}
