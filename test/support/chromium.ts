import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const CHROMIUM = '/usr/bin/chromium';
export const chromiumIsMissing = !existsSync(CHROMIUM);

export const HEADLESS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];

export interface RenderResult {
  readonly dom: string;
  /** Console output of the page and of the browser. */
  readonly console: readonly string[];
}

/** Loads a page in Chromium. @param folder for its profile. */
export const render = async (url: string, folder: string, ...options: readonly string[]): Promise<RenderResult> => {
  const { stdout, stderr } = await promisify(execFile)(
    CHROMIUM,
    [
      ...HEADLESS,
      '--enable-logging=stderr',
      `--user-data-dir=${join(folder, 'chromium')}`,
      '--virtual-time-budget=60000',
      ...options,
      '--dump-dom',
      url,
    ],
    { maxBuffer: 50_000_000, timeout: 90_000 },
  );
  return { dom: stdout, console: stderr.split('\n').filter((line) => /:CONSOLE[:(]/.test(line)) };
};
