import { Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';

/**
 * Preloaded into a service under test. On SIGUSR2 prints which functions of which files of `src` were called since the
 * previous signal, in one line: `entered-files {"src/main.ts":["start"],…}`.
 */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly functionName: string; readonly ranges: readonly { count: number }[] }[];
  }[];
}

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const sourceFile = (url: string): string | undefined => {
  if (!url.startsWith('file:')) return undefined;
  const file = fileURLToPath(url).replace(ROOT, '');
  return file.startsWith('src/') ? file : undefined;
};

const report = ({ result }: Coverage): void => {
  const calls: Record<string, readonly string[]> = {};
  for (const { url, functions } of result) {
    const file = sourceFile(url);
    const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    if (file !== undefined && called.length > 0) calls[file] = called.map(({ functionName }) => functionName);
  }
  process.stdout.write(`entered-files ${JSON.stringify(calls)}\n`);
};

process.on('SIGUSR2', () => {
  session.post('Profiler.takePreciseCoverage', (error: Error | null, coverage?: Coverage) => {
    if (error !== null || coverage === undefined) throw error ?? new Error('no coverage');
    report(coverage);
  });
});
