/**
 * Templates of mail: Liquid, MJML and style sheets that become attributes.
 *
 * Publishing and sending are two steps. `createTemplateCompiler` checks and compiles a source once, when it is published:
 * MJML becomes html and styles move into the elements they apply to. It works in one thread with a time limit, and owners
 * take turns. `createLiquidRenderer` renders a source with the values of one message. It runs inline: parsing and
 * rendering each take a few tens of milliseconds at most, and a caller that renders several parts pauses between them
 * (`pacedBy`).
 *
 * Sources and values come from strangers. A template reads no files, runs no regular expressions of its own and sees own
 * properties only; the length of sources, results, ranges and lists is bounded. Values are escaped for html, and in html
 * each one is enclosed in `OUTPUT_START` and `OUTPUT_END`, so that a caller can recognize the shape around them.
 *
 * A fault in a source is a `TemplateProblem` with line and column. A rendering that fails is `TemplateFailed`. A thread
 * that is busy for too long is `TemplateCompilerUnavailable`: trying again helps.
 */

export { createTemplateCompiler, type TemplateCompiler, TemplateCompilerUnavailable } from './compiler.ts';
export { createLiquidRenderer } from './liquid.ts';
export {
  isOnCalendar,
  LIQUID_TAGS,
  OUTPUT_END,
  OUTPUT_START,
  type TemplateCheck,
  TemplateFailed,
  type TemplatePlace,
  type TemplateRenderer,
  type Values,
  type VariableUse,
} from './template-renderer.ts';
