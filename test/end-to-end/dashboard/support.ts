import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { type ApiClient, apiClient } from '../../support/api-client.ts';
import { openBrowser, openWindow, type StorageState, type Theme, type Window } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import type { OperatorOptions } from '../../support/operator.ts';
import { freshDatabase, type TestDatabase } from '../../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../../support/program.ts';

/** A service for the tests of a screen, and a browser that shows it. */

export interface Size {
  readonly theme: Theme;
  /** In pixels. */
  readonly width: number;
}
export const WIDE: Size = { theme: 'light', width: 1280 };
export const NARROW: Size = { theme: 'dark', width: 390 };
/** Windows in which a screen is used. What it shows is checked in both themes in each: see `look`. */
export const WINDOWS: readonly Size[] = [WIDE, NARROW];

/** Result of `look` for a correct screen. */
export const FINE = { violations: [], isTooWide: false };

export interface Dashboard {
  readonly program: Program;
  /** Client with the live admin key of the first start. */
  readonly api: ApiClient;
  readonly browser: Browser;
  /** The service's database. */
  readonly databaseUrl: string;
  /** Environment and data folder for the operator's commands. */
  readonly place: OperatorOptions;
  /** Opens a window that is signed in with that key. */
  open(size: Size, options?: SavedState): Promise<Window>;
  /** Opens a window that is signed in as a member, the same one for each role. */
  openAs(role: Role, size: Size, options?: SavedState): Promise<Window>;
}

interface SavedState {
  readonly keepsPolicy?: true;
}

export const ROLES = ['owner', 'developer', 'analyst', 'auditor'] as const;
export type Role = (typeof ROLES)[number];

/** Invites a member and signs them in. */
const signIn = async ({ api, browser, program }: Dashboard, role: Role): Promise<StorageState> => {
  const { status, body } = await api.post('/v1/members', { email: `${role}@example.net`, name: `The ${role}`, role });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const { page, close } = await openWindow(browser, { baseUrl: program.baseUrl, ...WIDE });
  await page.goto(`/dashboard/sign-in${new URL(body.link.url).hash}`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  const state = await page.context().storageState();
  await close();
  return state;
};

/**
 * Starts before the tests of a file, and ends after them.
 *
 * @param prepare creates the data that the tests need.
 * @param settings of the service.
 */
export const startDashboard = (
  prepare: (dashboard: Dashboard) => Promise<void> = async () => undefined,
  settings: () => Promise<Readonly<Record<string, string>>> = async () => ({}),
): Dashboard => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let database: TestDatabase;
  let program: Program;
  let api: ApiClient;
  let browser: Browser | undefined;
  let env: Readonly<Record<string, string>> = {};
  const signedIn = new Map<Role, Promise<StorageState>>();

  const dashboard: Dashboard = {
    get program() {
      return program;
    },
    get api() {
      return api;
    },
    get place() {
      return { dataDir: data.path, env };
    },
    get browser() {
      if (browser === undefined) throw new Error('there is no browser');
      return browser;
    },
    get databaseUrl() {
      return database.url;
    },
    open: ({ theme, width }, options = {}) =>
      openWindow(dashboard.browser, {
        baseUrl: program.baseUrl,
        theme,
        width,
        keys: { live: program.keys.live },
        ...options,
      }),
    openAs: async (role, { theme, width }, options = {}) => {
      const state = signedIn.get(role) ?? signIn(dashboard, role);
      signedIn.set(role, state);
      const { baseUrl } = program;
      return openWindow(dashboard.browser, { baseUrl, theme, width, state: await state, ...options });
    },
  };

  beforeAll(async () => {
    data = await newDataDir();
    database = await freshDatabase();
    env = {
      DATABASE_URL: database.url,
      SECRET_KEY: 'a secret key that is long enough for a test',
      ...(await settings()),
    };
    program = await startProgram({ dataDir: data.path, env });
    api = apiClient(program.baseUrl, program.keys.live);
    if (!chromiumIsMissing) browser = await openBrowser();
    await prepare(dashboard);
  });

  afterAll(async () => {
    await browser?.close();
    await program.end('SIGTERM');
    await data.remove();
    await database.drop();
  });

  return dashboard;
};
