"""The look of a page: light, dark and printed."""

from __future__ import annotations

__all__ = ["STYLE"]

# The stages have the colours of Okabe and Ito, which people with any colour vision tell apart.
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #57606a; --line: #d5dae0;
  --panel: #f5f7f9; --mark: #e3f1e8; --link: #0059a8; --map: #0072b2; --shuffle: #e69f00;
  --wait: #c4cad1; --reduce: #009e73; --code: #7a3e9d; --predicted: #8a94a0; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e8ebee; --soft: #a3adb8;
  --line: #363d45; --panel: #1d2126; --mark: #1d3a2b; --link: #7ab8ff; --map: #4aa3dc; --shuffle: #eeb33c;
  --wait: #4d565f; --reduce: #35c49a; --code: #c79be3; --predicted: #7d8894; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 3.5rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 0 1.5rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 1.8rem 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; padding-bottom: .25rem;
  border-bottom: 1px solid var(--line); }
p, ul { max-width: 48rem; } p { margin: .5rem 0; }
a { color: var(--link); } :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100rem; } .skip:focus { left: 1rem; top: .5rem; z-index: 2;
  background: var(--paper); padding: .25rem .5rem; }
nav { position: sticky; top: 0; z-index: 1; background: var(--paper); border-bottom: 1px solid var(--line); }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; max-width: 72rem;
  margin: 0 auto; padding: .6rem 1.5rem; }
nav a { text-decoration: none; } nav a:hover { text-decoration: underline; }
.lead { font-size: 1.1rem; } .soft, caption { color: var(--soft); font-size: .9rem; }
.name { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: .6rem;
  margin: 1rem 0; }
dl div { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .5rem .8rem; }
dt { color: var(--soft); font-size: .85rem; } dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 .4rem; break-after: avoid; }
td.text { white-space: normal; min-width: 6rem; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { font-weight: 600; } thead th { color: var(--soft); vertical-align: bottom; }
.text { text-align: left; } tr.marked > * { background: var(--mark); }
.bar { display: inline-block; width: 14rem; height: .8rem; background: var(--panel); vertical-align: middle; }
.fill { display: block; height: 100%; min-width: 1px; background: var(--soft); }
.fill.map { background: var(--map); } .fill.shuffle { background: var(--shuffle); }
.fill.reduce { background: var(--reduce); } .fill.predicted { background: var(--predicted); }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; padding: 0; font-size: .9rem; }
.key span { display: inline-block; width: .9rem; height: .9rem; margin-right: .4rem; vertical-align: -.1rem; }
.lanes { overflow-x: auto; } .lanes svg { min-width: 44rem; width: 100%; height: auto; display: block; }
svg text { fill: var(--ink); font-size: 13px; } svg .tick { fill: var(--soft); font-size: 12px; }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .lane { fill: var(--panel); }
svg .map { fill: var(--map); } svg .shuffle { fill: var(--shuffle); } svg .wait { fill: var(--wait); }
svg .reduce { fill: var(--reduce); } svg .code { fill: var(--code); } svg .count { fill: var(--map); }
.key .map { background: var(--map); } .key .shuffle { background: var(--shuffle); }
.key .wait { background: var(--wait); } .key .reduce { background: var(--reduce); }
.key .code { background: var(--code); }
svg.spark { width: 8rem; height: 1.6rem; vertical-align: middle; }
@media print { nav, .skip { display: none; } body { font-size: 10pt; } main { max-width: none; padding: 0; }
  :root { --paper: #fff; --ink: #000; --soft: #444; --line: #bbb; --panel: #f4f4f4; --mark: #e3f1e8;
    --map: #0072b2; --shuffle: #e69f00; --wait: #c4cad1; --reduce: #009e73; --code: #7a3e9d; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .wide, .lanes { overflow: visible; } .lanes svg { min-width: 0; } tr, dl div, svg { break-inside: avoid; }
  h2 { break-after: avoid; } table { font-size: 7.5pt; } th, td { padding: .1rem .25rem; }
  .bar { width: 8rem; } }
"""
