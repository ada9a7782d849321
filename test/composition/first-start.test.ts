import { beforeEach, describe, expect, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { createHttpWebhookTarget } from '../../src/adapters/webhook-target/http.ts';
import { revokeKey } from '../../src/commands/api-key.ts';
import type { CommandContext } from '../../src/commands/execute.ts';
import {
  firstAdminKey,
  firstStart,
  noteKeysShown,
  readDirectory,
  serviceOrigin,
} from '../../src/composition/first-start.ts';
import { liveEarlierSecrets } from '../../src/domain/api-key/api-key.ts';
import { secretFacts } from '../../src/domain/api-key/secret.ts';
import { sha256Hex } from '../../src/domain/kernel/digest.ts';
import { StoreUnavailable } from '../../src/lib/async/async.ts';
import { createMemoryStore } from '../http/support/service.ts';
import { createInMemoryContents } from '../support/in-memory/contents.ts';
import { createInMemoryDkimKeys } from '../support/in-memory/dkim-keys.ts';
import { createInMemoryResolver } from '../support/in-memory/dns.ts';
import { createInMemorySecrets } from '../support/in-memory/secrets.ts';

const GIVEN = 'ob_live_0000000000000000000000000000000000000000000000000';
const LIVE = /^ob_live_\w{49}$/;
const TEST = /^ob_test_\w{49}$/;
const LINK = /^ob_link_\w{49}$/;

let context: CommandContext;

beforeEach(() => {
  const contents = createInMemoryContents();
  const system = createSystem();
  context = {
    contents,
    system,
    secrets: createInMemorySecrets(),
    store: createMemoryStore(contents),
    capturing: true,
    resolver: createInMemoryResolver(),
    dkimKeys: createInMemoryDkimKeys(),
    webhookTarget: createHttpWebhookTarget({ system, allowLoopback: true }),
  };
});

/** Hashes of all values that authenticate. */
const working = async (): Promise<readonly string[]> =>
  [...(await readDirectory(context)).keys.values()].flatMap(({ key }) =>
    key.status === 'active'
      ? [key.secret.hash, ...liveEarlierSecrets(key, context.system.now().toISOString()).map(({ hash }) => hash)]
      : [],
  );

const hashOf = (value: string | null | undefined): string => secretFacts(value ?? '').hash;

const startAndPrint = async (adminKey?: string) => {
  const keys = await firstStart(context, adminKey);
  await noteKeysShown(context);
  return keys;
};

/** The first two calls fail, as with an exhausted connection pool. */
const busyAtFirst = <Args extends readonly unknown[], Result>(
  call: (...args: Args) => Promise<Result>,
): ((...args: Args) => Promise<Result>) => {
  let failures = 2;
  return async (...args) => {
    if (failures > 0) {
      failures -= 1;
      throw new StoreUnavailable('timeout exceeded when trying to connect');
    }
    return call(...args);
  };
};

describe('a first start', () => {
  test('waits for a log and a vault that are briefly busy', async () => {
    await startAndPrint();
    const { store, secrets } = context;
    const busy: CommandContext = {
      ...context,
      store: { ...store, head: busyAtFirst(store.head), readAll: busyAtFirst(store.readAll) },
      secrets: { ...secrets, get: busyAtFirst(secrets.get) },
    };
    expect(await firstStart(busy, undefined)).toBeNull();
  });

  test('creates two keys, and no start prints keys after that', async () => {
    const keys = await startAndPrint();
    expect(keys).toEqual({
      live: expect.stringMatching(LIVE),
      test: expect.stringMatching(TEST),
      link: expect.stringMatching(LINK),
    });
    const hashes = [hashOf(keys?.live), hashOf(keys?.test)].sort();
    expect((await working()).toSorted()).toEqual(hashes);
    expect(await startAndPrint()).toBeNull();
    expect((await working()).toSorted()).toEqual(hashes);
  });

  test('that ended before printing its keys is followed by one that prints new keys, and the lost ones do not work', async () => {
    const lost = await firstStart(context, undefined);
    const found = await startAndPrint();
    expect(found).toEqual({
      live: expect.stringMatching(LIVE),
      test: expect.stringMatching(TEST),
      link: expect.stringMatching(LINK),
    });
    expect(found).not.toEqual(lost);
    expect((await working()).toSorted()).toEqual([hashOf(found?.live), hashOf(found?.test)].sort());
    expect(await startAndPrint()).toBeNull();
  });

  test('creates one owner, whose links work for an hour', async () => {
    const lost = await firstStart(context, undefined);
    const found = await startAndPrint();
    const [members, ...others] = (await readDirectory(context)).members.values();
    expect(others).toEqual([]);
    const [owner, ...more] = Object.values(members?.members ?? {});
    expect([owner?.role, owner?.status, more]).toEqual(['owner', 'invited', []]);
    const links = owner?.links ?? [];
    expect(links.map(({ linkHash }) => linkHash)).toEqual([lost, found].map((keys) => sha256Hex(keys?.link ?? '')));
    for (const { expiresAt, source } of links) {
      const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
      expect([source, minutes > 59, minutes < 61]).toEqual(['operator', true, true]);
    }
  });

  test('with a configured admin key creates only that key, and prints none', async () => {
    // This start ended before it printed the keys.
    expect(await firstStart(context, GIVEN)).toMatchObject({ live: null, test: null });
    expect(await startAndPrint(GIVEN)).toMatchObject({ live: null, test: null });
    expect(await working()).toEqual([hashOf(GIVEN)]);
  });

  test('whose lost keys were revoked by the operator never revives them', async () => {
    await firstStart(context, undefined);
    const directory = await readDirectory(context);
    const key = firstAdminKey(directory)?.key;
    const change = { by: 'operator', keyId: key?.keyId ?? '', loadKeyCache: async () => directory } as const;
    await revokeKey(context, serviceOrigin(context, key?.organizationId ?? ''), change);
    expect(await startAndPrint()).toMatchObject({ live: null });
  });

  test('of a version that kept no record has printed its keys', async () => {
    await firstStart(context, undefined);
    const before = await working();
    context = { ...context, secrets: createInMemorySecrets() };
    expect(await startAndPrint()).toBeNull();
    expect(await working()).toEqual(before);
  });
});
