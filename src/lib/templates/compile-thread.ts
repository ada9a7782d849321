import { parentPort } from 'node:worker_threads';
import { compileMjml } from './compile-mjml.ts';
import type { CompiledHtml, CompileTask, TemplateSource } from './compiler.ts';
import { inlineCss } from './inline-css.ts';
import { checkLiquid } from './liquid.ts';

/** Entry of the thread that checks and compiles templates. Libraries are loaded when a template needs them. */

const compile = async ({ html, format, inlineCss: css }: TemplateSource): Promise<CompiledHtml> => {
  const made = format === 'mjml' ? await compileMjml(html) : { html };
  return 'problem' in made || css === null ? made : inlineCss(made.html, css, html);
};

/** A WebAssembly library that ran out of memory or stack cannot be used again, so its thread ends. */
const answer = async (task: CompileTask): Promise<void> => {
  try {
    const result = task.job === 'check' ? checkLiquid(task.source) : await compile(task);
    parentPort?.postMessage({ result });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const sentence = `it could not be compiled, because the compiler failed (${reason}): make it simpler`;
    parentPort?.postMessage({ result: { problem: { line: 1, column: 1, sentence } }, isSpent: true });
  }
};

parentPort?.on('message', (task: CompileTask) => void answer(task));
