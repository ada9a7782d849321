import { onTestFinished } from 'vitest';
import { freshDatabase } from './postgres.ts';
import { newDataDir, type Program, startProgram } from './program.ts';

/** Folders, databases and services that a test has to itself, in reverse order of opening removed when it has finished. */

export const SECRET_KEY = 'a secret key that is long enough for a test';

export const folderForTest = async (): Promise<string> => {
  const data = await newDataDir();
  onTestFinished(data.remove);
  return data.path;
};

/** A folder and an empty database in which a service can run. */
export interface Place {
  readonly dataDir: string;
  readonly env: { readonly DATABASE_URL: string; readonly SECRET_KEY: string; readonly [name: string]: string };
}

export const placeForTest = async (env: Readonly<Record<string, string>> = {}): Promise<Place> => {
  const dataDir = await folderForTest();
  const database = await freshDatabase();
  onTestFinished(database.drop);
  return { dataDir, env: { DATABASE_URL: database.url, SECRET_KEY, ...env } };
};

export const programForTest = async (options: Parameters<typeof startProgram>[0]): Promise<Program> => {
  const program = await startProgram(options);
  onTestFinished(async () => void (await program.end('SIGTERM')));
  return program;
};
