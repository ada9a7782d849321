/** The style of the API reference: for a phone and for a wide screen, for day and for night. Nothing is loaded. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fff, #0f1218); --subtle: light-dark(#f7f8fa, #13171e); --inset: light-dark(#f0f2f6, #1a1f28);
  --line: light-dark(#e6e9ef, #232936); --strong: light-dark(#8b94a5, #5d6778);
  --text: light-dark(#12161d, #edf0f5); --soft: light-dark(#434b59, #b9c1ce); --quiet: light-dark(#596273, #98a2b2);
  --accent: light-dark(#2f54d0, #8fa9ff); --wash: light-dark(#eaf0ff, #18213a); --warn: light-dark(#a61b1b, #ff958d);
  --code: light-dark(#1b2130, #161b25); --ink: #e6eaf3; --dim: #a3adbf; --edge: light-dark(#1b2130, #2a3242);
  --mono: ui-monospace, "JetBrains Mono", "SF Mono", Menlo, Consolas, monospace;
}
* { box-sizing: border-box; }
html { scroll-padding-top: 8rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; font: 15px/1.6 Inter, system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--text); background: var(--paper); }
a { color: var(--accent); text-underline-offset: .2em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
:target > h3, li:target { background: var(--wash); box-shadow: 0 0 0 .4rem var(--wash); border-radius: 2px; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .5rem; z-index: 3; background: var(--paper); padding: .4rem .8rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.bar { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.25rem; padding: .6rem 1rem; background: var(--paper); border-bottom: 1px solid var(--line); }
.brand { font-weight: 650; color: var(--text); text-decoration: none; letter-spacing: -.01em; }
.bar form { flex: 1 1 9rem; max-width: 26rem; }
input[type=search] { width: 100%; font: inherit; font-size: .93rem; color: inherit; background: var(--subtle); border: 1px solid var(--strong); border-radius: .5rem; padding: .3rem .75rem; }
.languages { display: flex; border: 0; margin: 0; padding: .15rem; gap: .1rem; background: var(--inset); border-radius: .5rem; font-size: .8rem; }
.languages label { padding: .2rem .5rem; border-radius: .4rem; color: var(--soft); cursor: pointer; white-space: nowrap; }
.languages input { position: absolute; opacity: 0; pointer-events: none; }
.languages input:checked + label { background: var(--paper); color: var(--text); font-weight: 600; box-shadow: 0 1px 2px rgb(0 0 0 / .16); }
.languages input:focus-visible + label { outline: 2px solid var(--accent); }

nav ul { list-style: none; margin: 0 0 1.1rem; padding: 0; }
nav a { display: block; padding: .2rem .6rem; border-radius: .4rem; color: var(--soft); text-decoration: none; font-size: .9rem; line-height: 1.4; }
nav a:hover { background: var(--inset); color: var(--text); }
nav a[aria-current] { color: var(--accent); font-weight: 600; background: var(--wash); }
nav ul ul { margin: .15rem 0 .6rem .6rem; border-left: 1px solid var(--line); padding-left: .35rem; }
nav ul ul a { font-size: .84rem; }
nav b { display: block; padding: 0 .6rem; margin-bottom: .25rem; font-size: .76rem; font-weight: 650; color: var(--quiet); }
.menu { padding: .6rem 1rem; border-bottom: 1px solid var(--line); }
.menu summary { font-weight: 600; cursor: pointer; } .menu[open] summary { margin-bottom: .8rem; }

main { padding: 1.25rem 1rem 5rem; min-width: 0; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -.025em; margin: .4rem 0 .6rem; }
h2 { font-size: 1.3rem; line-height: 1.3; letter-spacing: -.015em; margin: 3rem 0 .6rem; }
h3 { font-size: 1.2rem; line-height: 1.35; letter-spacing: -.01em; margin: 0 0 .35rem; }
h3 a { color: inherit; text-decoration: none; } h3 a:hover { text-decoration: underline; }
h4 { font-size: .93rem; margin: 1.8rem 0 .3rem; }
p { margin: .5rem 0; } .lead { font-size: 1.06rem; color: var(--soft); max-width: 44rem; }
main ul { padding-left: 1.15rem; margin: .5rem 0; } li { margin: .2rem 0; }
main > p, main > ul { max-width: 46rem; }
code { font: .87em/1.5 var(--mono); } p code, li > code, td code { background: var(--inset); border-radius: .25rem; padding: .08em .3em; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .93rem; } td, th { text-align: left; vertical-align: top; padding: .4rem 1.2rem .4rem 0; border-bottom: 1px solid var(--line); }
.endpoint { font: .86rem/1.5 var(--mono); color: var(--soft); margin: 0 0 .8rem; } .endpoint b { color: var(--accent); font-weight: 650; margin-right: .35em; }

.operation, .object { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 2.25rem; }
h2 + .operation, h2 + .object { border-top: 0; margin-top: 1.25rem; padding-top: 0; }
.samples { margin-top: 1.25rem; min-width: 0; }
.text { min-width: 0; }
ul.fields { list-style: none; padding: 0; margin: .2rem 0 0; }
.fields > li { border-top: 1px solid var(--line); padding: .6rem 0; margin: 0; font-size: .93rem; }
.fields > li > code:first-child { background: none; padding: 0; font-weight: 650; color: var(--text); }
.fields .fields { margin: .5rem 0 0; padding-left: .85rem; border-left: 2px solid var(--line); } .fields .fields > li:first-child { border-top: 0; }
.fields p { color: var(--soft); margin: .2rem 0 0; } .type { color: var(--quiet); font-size: .86rem; }
.required { color: var(--warn); font-size: .8rem; font-weight: 600; }
details > summary { cursor: pointer; } .more { margin-top: 1.2rem; border-top: 1px solid var(--line); padding-top: .7rem; } .more > summary { font-weight: 600; font-size: .93rem; }
.more ul { color: var(--soft); font-size: .91rem; }

figure { margin: 0 0 1rem; border-radius: .6rem; overflow: hidden; background: var(--code); border: 1px solid var(--edge); color: var(--ink); }
figcaption { display: flex; justify-content: space-between; gap: .2rem 1rem; flex-wrap: wrap; font-size: .78rem; padding: .5rem .9rem; color: var(--dim); border-bottom: 1px solid #2a3242; }
figcaption code { font-size: .95em; } figcaption b { margin-right: .5em; }
pre { margin: 0; padding: .8rem .9rem; font: .8rem/1.6 var(--mono); overflow: auto; max-height: 34rem; tab-size: 4; }
pre i { font-style: normal; color: #9db8ff; } figure :focus-visible { outline-offset: -3px; outline-color: #9db8ff; }
.samples details { margin: -.2rem 0 1rem; font-size: .88rem; } .samples summary { margin-bottom: .5rem; color: var(--soft); }
@supports selector(:has(a)) { SHOWN_LANGUAGE }

.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .75rem; padding: 0 !important; list-style: none; max-width: none; }
.cards li { border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; margin: 0; background: var(--subtle); } .cards a { font-weight: 600; text-decoration: none; } .cards p { margin: .15rem 0 0; font-size: .9rem; color: var(--soft); }
.columns { columns: 17rem; max-width: none; list-style: none; padding: 0 !important; font-size: .9rem; } .columns li { break-inside: avoid; }
.results { list-style: none; padding: 0 !important; } .results li { border-top: 1px solid var(--line); padding: .8rem 0; } .results a { font-weight: 600; text-decoration: none; } .results .endpoint { margin: .1rem 0; }
.turn { display: flex; justify-content: space-between; gap: 1rem; border-top: 1px solid var(--line); margin-top: 4rem; padding-top: 1.2rem; font-weight: 600; } .turn a { text-decoration: none; }

@media (min-width: 64rem) {
  .bar { padding: .6rem 1.5rem; flex-wrap: nowrap; } .brand { width: 14.5rem; flex: none; } .languages { margin-left: auto; }
  html { scroll-padding-top: 4.5rem; }
  .shell { display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
  nav.contents { position: sticky; top: 3.4rem; height: calc(100vh - 3.4rem); overflow: auto; border-right: 1px solid var(--line); padding: .75rem 0; }
  .menu { border: 0; } .menu > summary { display: none; } .menu::details-content { content-visibility: visible; block-size: auto; }
  main { padding: 1.75rem 2.5rem 6rem; }
  pre { max-height: calc(100vh - 9rem); }
}
@media (min-width: 75rem) {
  .operation { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2.75rem; }
  .samples { margin: 0; position: sticky; top: 4.5rem; align-self: start; max-height: calc(100vh - 5.5rem); overflow: auto; }
  .samples pre { max-height: 24rem; }
}
@media (min-width: 110rem) {
  main { padding-inline: 4rem; max-width: 104rem; } .operation { gap: 0 4.5rem; } h1 { font-size: 2.2rem; }
}
`;
