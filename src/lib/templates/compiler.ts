import { createWorkerThreads, TaskTooLong, ThreadUnavailable } from '../async/async.ts';
import type { CompiledHtml } from './template-compiler.ts';
import { type TemplateCompiler, TemplateCompilerUnavailable, type TemplateSource } from './template-compiler.ts';

/** Adapter of the port `TemplateCompiler`: one thread, started by the first template that needs it. */

/** A large newsletter of MJML takes 100 ms. More lets one organization keep the others waiting. */
const RUN_MS_MAX = 1_000;
const WAIT_MS_MAX = 10_000;
const WAITING_MAX = 64;

export const createTemplateCompiler = (): TemplateCompiler => {
  const workers = createWorkerThreads<TemplateSource, CompiledHtml>({
    entry: new URL('./compile-thread.ts', import.meta.url),
    threads: 1,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });
  const run = (source: TemplateSource, owner: string): Promise<CompiledHtml> =>
    workers.run(source, owner).catch((error: unknown) => {
      if (error instanceof TaskTooLong) return { problem: { line: 1, column: 1, sentence: error.message } };
      if (error instanceof ThreadUnavailable) throw new TemplateCompilerUnavailable(error.message, { cause: error });
      throw error;
    });
  return {
    compile: async (source, owner) =>
      source.format === 'html' && source.inlineCss === null ? { html: source.html } : run(source, owner),
    close: workers.close,
  };
};
