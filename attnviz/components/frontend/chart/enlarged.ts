// Enlarges a Plotly figure's text to the page's minimum size (see core/type.ts).

import { typeFor } from "../core/type.ts";

/**
 * The traces and the layout with larger labels, and room for them, in a picture of `size`. Numbers in cells are left
 * out: plotly.js can't say whether they would fit.
 */
export function enlarged({ data, layout }: PlotlyFigure, size: Size, least: number) {
  if (!least) return { data, layout };
  const type = typeFor(least);
  const larger = (font: PlotlyFont | undefined) => ({ ...font, size: Math.max(least, (font?.size ?? 12) * type.unit) });
  const margin = Object.fromEntries(Object.entries(layout.margin).map(([side, length]) => [side, length * type.unit]));
  const rooms = { x: size.width - margin.l - margin.r, y: size.height - margin.t - margin.b };
  const axes = Object.entries(layout)
    .filter(([name]) => /^[xy]axis\d*$/.test(name))
    .map(([name, axis]) => {
      const room = (name.startsWith("x") ? rooms.x : rooms.y) * (axis.domain[1] - axis.domain[0]);
      return [
        name,
        {
          ...thinned(axis, room, least),
          tickfont: larger(axis.tickfont),
          title: { ...axis.title, font: larger(axis.title?.font) },
        },
      ];
    });
  return {
    data: data.map(({ texttemplate, ...trace }) =>
      trace.colorbar ? { ...trace, colorbar: { ...trace.colorbar, tickfont: larger(trace.colorbar.tickfont) } } : trace,
    ),
    layout: {
      ...layout,
      ...Object.fromEntries(axes),
      margin,
      hoverlabel: { ...layout.hoverlabel, font: larger(layout.hoverlabel?.font) },
      annotations: layout.annotations.map((note) => ({
        ...note,
        font: larger(note.font),
        text: note.text.replace(/font-size:\d+px/g, `font-size:${least}px`),
      })),
    },
  };
}

/** An axis with as many of its labels as have room. */
function thinned(axis: PlotlyAxis, room: number, needed: number) {
  const every = Math.ceil((axis.tickvals.length * needed) / Math.max(room, 1));
  const some = <T>(list: T[]) => list.filter((_, i) => i % every === 0);
  return { ...axis, tickvals: some(axis.tickvals), ticktext: some(axis.ticktext) };
}
