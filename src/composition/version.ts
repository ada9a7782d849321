import { readFile } from 'node:fs/promises';

/** Version in `package.json`. */
export const version = async (): Promise<string> => {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return String((JSON.parse(text) as { readonly version?: unknown }).version);
};
