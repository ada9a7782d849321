import { describe, expect, test } from 'vitest';
import { listenPlace, type ReadyFacts, readyBlock, readyFields } from '../../src/composition/run-service.ts';
import type { Config } from '../../src/config.ts';

const LIVE = `ob_live_${'1'.repeat(49)}`;
const TEST = `ob_test_${'2'.repeat(49)}`;
const LINK = `ob_link_${'3'.repeat(49)}`;
const facts: ReadyFacts = {
  baseUrl: 'http://127.0.0.1:3000',
  firstKeys: { live: LIVE, test: TEST, link: LINK },
  capturing: true,
  places: ['Data: built-in PostgreSQL in /data'],
};

describe('a ready service', () => {
  test('prints each first key on a line of its own, and a command to paste', () => {
    const lines = readyBlock(facts).split('\n');
    expect(lines).toContain('Outbox is ready at http://127.0.0.1:3000');
    expect(lines).toContain(LIVE);
    expect(lines).toContain(TEST);
    expect(lines).toContain(`http://localhost:3000/dashboard/sign-in#${LINK}`); // passkeys require a host name
    expect(lines).toContainEqual(expect.stringMatching(/^curl -sS .*\/v1\/messages\/send .*Bearer ob_live_1/));
  });

  test('prints the same as fields of one JSON line', () => {
    expect(readyFields(facts)).toEqual({
      baseUrl: 'http://127.0.0.1:3000',
      places: facts.places,
      liveKey: LIVE,
      testKey: TEST,
      dashboard: `http://localhost:3000/dashboard/sign-in#${LINK}`,
      firstStep: expect.stringMatching(/^curl -sS .*\/v1\/messages\/send .*Bearer ob_live_1/),
      inbox: 'http://127.0.0.1:3000/v1/inbox',
      reference: 'http://127.0.0.1:3000/docs',
    });
  });

  test('says where it listens if another address is public', () => {
    const config = { publicUrl: 'https://outbox.example.com', host: '::1', port: 3000, roles: new Set(['api']) };
    expect(listenPlace(config as unknown as Config)).toEqual(['API: listens on [::1]:3000']);
    expect(listenPlace({ ...config, publicUrl: undefined } as unknown as Config)).toEqual([]);
    expect(listenPlace({ ...config, port: 0 } as unknown as Config)).toEqual([]);
    expect(listenPlace({ ...config, roles: new Set(['workers']) } as unknown as Config)).toEqual([]);
  });

  test('names no key that was not created, and no inbox if mail is really sent', () => {
    const later = { ...facts, firstKeys: { live: null, test: null, link: null }, capturing: false };
    expect(readyBlock(later)).not.toContain('ob_');
    const { firstStep, ...fields } = readyFields(later);
    expect(fields).toEqual({ baseUrl: facts.baseUrl, places: facts.places, reference: `${facts.baseUrl}/docs` });
    expect(firstStep).toMatch(/\/v1\/domains .*Bearer \$OUTBOX_KEY/);
  });
});
