import { createWorkerThreads, TaskTooLong, ThreadUnavailable } from '../async/async.ts';
import type { TemplateCheck, TemplateProblem } from './template-renderer.ts';

/**
 * Checks a template's sources and turns them into html when the template is published: MJML becomes html, and styles
 * are copied into the elements they apply to. Liquid tags pass through unchanged.
 */
export interface TemplateCompiler {
  /**
   * @param source Liquid. @param owner as below.
   * @throws {TemplateCompilerUnavailable}
   */
  check(source: string, owner: string): Promise<TemplateCheck>;
  /**
   * @param owner organization. Organizations with waiting work take turns.
   * @throws {TemplateCompilerUnavailable} if its turn did not come in time.
   */
  compile(source: TemplateSource, owner: string): Promise<CompiledHtml>;
  close(): Promise<void>;
}

export interface TemplateSource {
  readonly html: string;
  readonly format: 'html' | 'mjml';
  /**
   * Style sheets to write into elements besides those of the html: its layouts' own. null: styles stay where they are.
   */
  readonly inlineCss: string | null;
}

/** A task of the thread. */
export type CompileTask =
  | ({ readonly job: 'compile' } & TemplateSource)
  | { readonly job: 'check'; readonly source: string };

export type CompiledHtml = { readonly html: string } | { readonly problem: TemplateProblem };

/** A fault of ours, worth a retry. */
export class TemplateCompilerUnavailable extends Error {
  override readonly name = 'TemplateCompilerUnavailable';
}

/** Adapter of the port `TemplateCompiler`: one thread, started by the first template that needs it. */

/** A large MJML newsletter takes 100 ms. More lets one organization block the others. */
const RUN_MS_MAX = 1_000;
const WAIT_MS_MAX = 10_000;
const WAITING_MAX = 64;

/** Passes on faults of the source only. */
const problemOf = (error: unknown): { readonly problem: TemplateProblem } => {
  if (error instanceof TaskTooLong) return { problem: { line: 1, column: 1, sentence: error.message } };
  if (error instanceof ThreadUnavailable) throw new TemplateCompilerUnavailable(error.message, { cause: error });
  throw error;
};

export const createTemplateCompiler = (): TemplateCompiler => {
  const workers = createWorkerThreads<CompileTask, CompiledHtml | TemplateCheck>({
    entry: new URL('./compile-thread.ts', import.meta.url),
    threads: 1,
    runMsMax: RUN_MS_MAX,
    waitMsMax: WAIT_MS_MAX,
    tasksMax: WAITING_MAX,
  });
  return {
    check: async (source, owner) => {
      try {
        return (await workers.run({ job: 'check', source }, owner)) as TemplateCheck; // as the thread answers this job
      } catch (error) {
        return { ...problemOf(error), uses: [] };
      }
    },
    compile: async (source, owner) => {
      if (source.format === 'html' && source.inlineCss === null) return { html: source.html };
      try {
        return (await workers.run({ job: 'compile', ...source }, owner)) as CompiledHtml; // as above
      } catch (error) {
        return problemOf(error);
      }
    },
    close: workers.close,
  };
};
