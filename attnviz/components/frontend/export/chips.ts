// Exports tokens as they stand on the page: chips, each a token above its id. An element with the attribute data-tokens
// (the name of the picture) has chips for children.

import { INK } from "../core/colours.ts";
import type { Pen } from "../pen/pen.ts";

const NAME = { size: 14, above: 12 }; // px
const DASH = [4, 3];

export function chipsPicture(strip: HTMLElement): PagePicture {
  const name = strip.dataset.tokens ?? "";
  return {
    name,
    ready: strip.children.length > 0 && !strip.querySelector(":scope > [hidden]"), // long lists are laid out in parts
    paint(pen, { theme }) {
      const { x, y } = strip.getBoundingClientRect();
      const { fontFamily: family } = getComputedStyle(strip);
      const from = { x: x - strip.scrollLeft, y: y - strip.scrollTop }; // also of what is scrolled away
      const ink = INK[theme].text;
      Object.assign(pen, { font: `600 ${NAME.size}px ${family}`, fillStyle: ink, textAlign: "left" });
      pen.fillText(name, 0, -NAME.above);
      for (const chip of strip.children) paintChip(pen, chip, { from, family, ink });
    },
  };
}

function paintChip(
  pen: Pen,
  chip: Element,
  { from, family, ink }: { from: { x: number; y: number }; family: string; ink: string },
) {
  const { backgroundColor, borderTopStyle, borderBottomStyle, outlineStyle, borderTopColor, outlineColor } =
    getComputedStyle(chip);
  const { width, height, ...at } = chip.getBoundingClientRect().toJSON();
  const [x, y] = [at.x - from.x, at.y - from.y];
  pen.fillStyle = backgroundColor;
  pen.fillRect(x, y, width, height);
  const isUnknown = [borderTopStyle, outlineStyle].includes("dashed");
  if (isUnknown) {
    Object.assign(pen, { strokeStyle: outlineStyle === "dashed" ? outlineColor : borderTopColor, lineWidth: 2 });
    pen.setLineDash(DASH);
    pen.strokeRect(x + 1, y + 1, width - 2, height - 2);
    pen.setLineDash([]);
  }
  pen.fillStyle = ink;
  if (isSecond(chip) && borderBottomStyle === "solid") pen.fillRect(x, y + height - 2, width, 2);
  for (const part of chip.children.length ? chip.children : [chip]) {
    const box = part.getBoundingClientRect();
    const { fontSize, fontWeight } = getComputedStyle(part);
    const font = `${Number(fontWeight) >= 600 ? "600 " : ""}${fontSize} ${family}`;
    Object.assign(pen, { font, fillStyle: ink, textAlign: "center", textBaseline: "middle" });
    pen.fillText(part.textContent ?? "", box.x + box.width / 2 - from.x, box.y + box.height / 2 - from.y);
  }
}

/** Whether it stands for a token of the second text. */
const isSecond = ({ classList }: Element) => classList.contains("tv-second") || classList.contains("second");
