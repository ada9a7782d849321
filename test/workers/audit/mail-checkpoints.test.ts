import { describe, expect, test } from 'vitest';
import { signCheckpoint } from '../../../src/commands/audit.ts';
import { removeAuditor } from '../../../src/commands/auditor.ts';
import { internalOrigin } from '../../../src/commands/execute.ts';
import { LOG_START } from '../../../src/domain/kernel/event-store.ts';
import type { MessageBody } from '../../../src/domain/ports/contents.ts';
import { parseNote, parseVerifierKey, signedAt } from '../../../src/lib/transparency/transparency.ts';
import { createAuditTrees } from '../../../src/projections/audit/tree.ts';
import { mailCheckpoints } from '../../../src/workers/audit/audit-jobs.ts';
import { silentLogger } from '../../support/logger.ts';
import { ADDRESS } from '../../support/traces.ts';
import { auditorsIn, createErasing } from '../erasing.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('the daily checkpoint mail', () => {
  const { ask, erase, rounds, pool, context, dump, ...made } = createErasing();

  const add = async (more: object = {}): Promise<string> => {
    const auditor = { name: 'Ann', email: ADDRESS, expires_at: '2099-12-31T23:59:59Z', ...more };
    return (await ask('POST', '/v1/audit/auditors', auditor)).body.id;
  };
  const sign = async () => {
    await ask('GET', '/v1/audit/log');
    const command = { tree: made.organizationId(), trees: createAuditTrees(pool()), host: 'mail.example' };
    await signCheckpoint(context(), command);
    await ask('GET', '/v1/audit/checkpoints');
  };

  /** Runs rounds of a newly started process, with the clock ahead by `shiftMs`. */
  const mail = async (
    times = 1,
    { shiftMs = 0, domain = { id: 'dom_1', name: 'shop.test' } as object | null } = {},
  ) => {
    const { system, ...parts } = context();
    const ending = new AbortController();
    let left = times;
    const work = mailCheckpoints({
      ...parts,
      system: { ...system, now: () => new Date(system.now().getTime() + shiftMs) },
      auditors: await auditorsIn(parts.store),
      trees: createAuditTrees(pool()),
      sendingDomains: { sendableOf: () => domain as { id: string; name: string } | null },
      leadership: { isLeader: () => true },
      logger: silentLogger,
      caughtUp: Promise.resolve(),
      everyMs: 1,
    });
    await work(ending.signal, () => {
      left -= 1;
      if (left === 0) ending.abort();
    });
  };

  const mailed = async (): Promise<readonly MessageBody[]> => {
    const { store, contents } = context();
    const { events } = await store.readAll({ from: LOG_START, filter: {}, limit: 10_000 });
    const ids = events.flatMap((event) => (event.type === 'MessageAccepted' ? [event.data.contentId] : []));
    const bodies = await contents.get(ids);
    return ids.flatMap((id) => (bodies.get(id)?.kind === 'message' ? [bodies.get(id) as MessageBody] : []));
  };

  test('sends each auditor with an address the newest one, signed, once a day, whichever process sends it', async () => {
    await add();
    await add({ name: 'Bob', email: null });
    await mail(5);
    expect(await mailed()).toEqual([]); // no checkpoint was signed
    await sign();
    await Promise.all([mail(5), mail(5)]);
    await mail(5);
    const [first, ...more] = await mailed();
    expect(more).toEqual([]);
    expect(first).toMatchObject({
      from: { address: 'outbox@shop.test' },
      recipients: [{ address: ADDRESS, kind: 'to' }],
      subject: expect.stringMatching(/^Checkpoint of an audit log: \d+ events on \d{4}-\d\d-\d\d$/),
      headers: { 'Auto-Submitted': 'auto-generated' },
      attachments: [{ filename: 'checkpoint.note', contentType: 'text/plain' }],
    });
    const note = Buffer.from(first?.attachments[0]?.content ?? '', 'base64').toString();
    expect(first?.text).toContain(note);
    const [vkey = ''] = /mail\.example\/\S+\+[0-9a-f]{8}\+\S+/.exec(first?.text ?? '') ?? [];
    expect(signedAt(parseNote(note), parseVerifierKey(vkey))).toBe(0);
    await mail(2, { shiftMs: DAY_MS });
    await mail(2, { shiftMs: DAY_MS });
    expect(await mailed()).toHaveLength(2);
  });

  test('skips auditors whose token has expired or was removed, and organizations without a domain that may send', async () => {
    const [removed] = [await add(), await add({ expires_at: new Date(Date.now() + HOUR_MS).toISOString() })];
    await sign();
    const organizationId = made.organizationId();
    const origin = internalOrigin({ actor: 'operator', organizationId, causeId: 'test' });
    await removeAuditor(context(), origin, { auditorId: removed });
    await mail(2, { domain: null });
    await mail(2, { shiftMs: DAY_MS });
    expect(await mailed()).toEqual([]);
  });

  test('stops when the address is erased, which also erases the name, even for removed auditors', async () => {
    const [active, removed, other] = [await add(), await add(), await add({ name: 'Bob', email: 'bob@example.org' })];
    const organizationId = made.organizationId();
    const origin = internalOrigin({ actor: 'operator', organizationId, causeId: 'test' });
    await removeAuditor(context(), origin, { auditorId: removed });
    expect(await dump()).toContain(ADDRESS);
    const id = await erase({ suppress: false });
    await rounds(2);
    expect((await ask('GET', `/v1/erasures/${id}`)).body.state).toBe('completed');
    expect(await dump()).not.toContain(ADDRESS);
    const shown = await ask('GET', `/v1/audit/auditors/${active}`);
    expect(shown).toMatchObject({ status: 200, body: { name: null, email: null, status: 'active' } });
    expect((await ask('GET', '/v1/audit/auditors')).body.data).toMatchObject([
      { id: other, name: 'Bob' },
      { id: active, name: null },
    ]);
    await sign();
    await mail(2);
    expect((await mailed()).map(({ recipients }) => recipients[0]?.address)).toEqual(['bob@example.org']);
  });
});
