// The motion of a step on a slide: a board of its own, out of sight, and below it what is being computed.

import { Board } from "../board/board.ts";
import { element } from "../core/dom.ts";
import { INK } from "../core/colours.ts";
import { HEADING, PAPER } from "../core/constants.ts";
import { motionAt } from "./moment.ts";

const SLIDE = { width: 1280, height: 720 }; // px: 16:9
const SCALE = 4 / 3; // of the type, for it is read from far
const MARGIN = 22; // px of the page's, as all that follows
const TITLE = 30;
const CAPTION = 30;

/** @param host the board's, whose font the slide has */
export function animationOf(
  host: HTMLElement,
  { header, timeline, theme, title }: { header: StageHeader; timeline: Timeline; theme: Theme; title: string },
): PageAnimation {
  const [width, height] = [SLIDE.width / SCALE, SLIDE.height / SCALE];
  const top = title ? TITLE : 0;
  const size = `width:${width - 2 * MARGIN}px;height:${height - 2 * MARGIN - top - CAPTION}px`;
  const place = element("div", { style: `position:fixed;left:-9999px;top:0;visibility:hidden;--chrome:none;${size}` });
  host.append(place);
  const board = new Board(place);
  board.theme = theme;
  board.show({ ...header, panels: header.panels.map((panel) => ({ ...panel, numbered: true })) });
  const canvas = element("canvas", SLIDE);
  const context = canvas.getContext("2d", { willReadFrequently: true }) as CanvasRenderingContext2D;
  return {
    ...SLIDE,
    ms: timeline.ms,
    draw(t) {
      const frame = t < 1 ? timeline.at(t) : null;
      context.setTransform(SCALE, 0, 0, SCALE, 0, 0);
      context.fillStyle = PAPER[theme];
      context.fillRect(0, 0, width, height);
      const heading = { x: MARGIN, y: MARGIN + 12, font: `600 19px ${board.font}`, ink: () => HEADING[theme] };
      write(context, [[title]], heading);
      const ink = (role: RoleInk) => INK[theme][role];
      const foot = { x: MARGIN, y: height - MARGIN - 4, font: `15px ${board.font}`, ink };
      write(context, frame?.says ?? [], foot);
      context.translate(MARGIN, MARGIN + top);
      board.motion = frame && motionAt(frame, header);
      board.paint(context);
      const { data } = context.getImageData(0, 0, SLIDE.width, SLIDE.height);
      return new Uint32Array(data.buffer);
    },
    destroy() {
      board.destroy();
      place.remove();
    },
  };
}

function write(
  context: CanvasRenderingContext2D,
  says: Said[],
  { x, y, font, ink }: { x: number; y: number; font: string; ink: (role: RoleInk) => string },
) {
  Object.assign(context, { font, textAlign: "left", textBaseline: "alphabetic" });
  let left = x;
  for (const [text, role = "text"] of says) {
    context.fillStyle = ink(role);
    context.fillText(text, left, y);
    left += context.measureText(text).width;
  }
}
