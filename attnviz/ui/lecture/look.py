"""The style sheet of lecture mode.

Sizes in rem grow with the root. --least-type (in rem, see frontend/core/type.js) is the minimum font size of pictures
and components; --chrome hides the controls that an audience does not need. On a phone and a tablet the font
size is unchanged.
"""

CSS = """
<style>
@media (min-width: 769px) and (min-height: 561px) {
  :root { --least-type: 0.86; font-size: max(21px, min(1.640625vw, 2.916667vh)); }
}
:root:root { --chrome: none;
  --walk-height: calc(100vh - 0.6rem - var(--bar, 0rem) - var(--note, 0rem)); --walk-corner: 5rem;
  --compare-below: 9.3rem;
  --training-height: calc(100vh - 0.6rem - var(--note, 0rem));
  --explorer-height: calc(100vh - 1.7rem - var(--bar, 0rem)); }
:root:root:has(.stMain .stAlert) { --note: 3.7rem; --explorer-height: 0rem; } /* it then measures itself */
:root:has(.st-key-lesson_bar) { --bar: 5.4rem; --least-picture: 30vh; }
:root:root:has(.st-key-lesson_bar) { --compare-below: 4.8rem; --walk-notice: none; }
@media (min-width: 769px) and (max-width: 1100px) { /* a sentence of four lines, as on a projector of 1024 x 768 */
  :root:root:has(.st-key-lesson_bar) { --bar: 6.4rem; }
}
@media (max-height: 560px) { /* the page is scrolled, or no picture would be left */
  :root:root { --walk-height: max(24rem, calc(100vh - 0.6rem)); --explorer-height: 0rem; }
  :root:root:root:root { --compare-height: 24rem; --compare-below: initial; }
}
[data-testid="stHeader"] { visibility: hidden !important; } /* keeps the navigation's layout */
.stHtml h1.page-title.page-title { clip-path: inset(50%); }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], :root:not(.attnviz-tools) .st-key-toolbar,
.st-key-toolbar :is(.st-key-lecture_switch, .st-key-tour_start),
.st-key-heads_top, .st-key-more, .st-key-row_a, .st-key-row_b, .st-key-compare_preset, .stMain .stDataFrame,
.stMain .stVerticalBlock:has(> * .figures) > * > .stExpander { display: none !important; }

:has(> .st-key-toolbar) { top: 0.2rem; right: 4.5rem; } /* beside the two buttons of lecture mode */
.st-key-toolbar button { background: var(--st-background-color, Canvas); }

.stMain .stMainBlockContainer { padding: 0.2rem 1rem 0; }
.stMain .stMainBlockContainer [data-testid="stVerticalBlock"] { gap: 0.3rem; }
.stMain :is(.stMarkdown p, [data-testid="stCaptionContainer"] p, small, label p, button p, code, .rt, .rt li, .tv-id,
  .tv-lost, .tv-more, .tv-count, .figure-name, .of) { font-size: max(0.9rem, var(--least-type, 0) * 1rem); }
.stMain .notice { font-size: 1.05rem; line-height: 1.35; }
.stMain .stCode :is(pre, code) { padding: 0.4rem; white-space: pre-wrap !important; overflow-wrap: anywhere; }

.stMain .stMarkdown:has(.katex-display) { margin: 0; padding-block: 0.15rem; }
@media (min-width: 641px) { .stMain .stMarkdown.stMarkdown:has(.katex-display) { overflow: visible; } }
.stMain [data-testid="stMarkdownContainer"]:has(.katex-display) { margin: 0; overflow: visible; }
.stMain .katex-display { margin: 0; }
.stMain .katex { font-size: 1.3em; }

.stHorizontalBlock:has(.notice) .tv-piece { font-size: 1.5rem; }
.stHorizontalBlock:has(.notice) .tv-id { font-size: 1.1rem; }
.st-key-explorer { min-height: 0; }
.st-key-comparison { margin-top: 1.5rem; }
/* Without a lesson the texts stand beside the corner's buttons, and the picture needs no space for these. */
:root:has(.stMain .sentences) .st-key-comparison { margin-top: 0; }
:root:not(:has(.st-key-lesson_bar)) .sentences { padding-right: 5rem; }

/* In a lesson the scene's sentence replaces the notice. */
:root:has(.st-key-lesson_bar) .st-key-comparison { margin-top: 0; }
:root:has(.st-key-lesson_bar):has(.st-key-comparison) .stMain :is(.notice, .figures .of) { display: none; }

.stMain .stColumn:has(.lesson-card) .stVerticalBlock.stVerticalBlock { gap: 0.1rem; }
.stMain [class*="st-key-lesson_start_"] { padding-top: 0.6rem; }

/* Plotly's plots are in px. They grow with the root too, letters included: Streamlit measures the size that the plot
has at 1280 x 720, and draws it enlarged. For the pointer Plotly accounts for a transformation, but not for a zoom. */
@media (min-width: 1281px) and (min-height: 721px) {
  @supports (zoom: tan(atan2(1rem, 21px))) {
    :root { --hall: tan(atan2(1rem, 21px)); }
    .stMain .stElementContainer:has(> * > .stPlotlyChart) { zoom: var(--hall); overflow: hidden; }
    .stMain .stElementContainer > :has(> .stPlotlyChart) {
      zoom: calc(1 / var(--hall)); width: calc(100% / var(--hall)); height: calc(100% / var(--hall)); }
    .stMain .stPlotlyChart > .js-plotly-plot { transform: scale(var(--hall)); transform-origin: 0 0; }
  }
}
</style>
"""
