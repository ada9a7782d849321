import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noteCosignature } from '../../src/commands/audit.ts';
import { readingStream } from '../../src/domain/kernel/streams.ts';
import {
  createCosigner,
  parseNote,
  parsePolicy,
  parseVerifierKey,
  signedAt,
} from '../../src/lib/transparency/transparency.ts';
import { type DatabaseService, startDatabaseService } from '../http/support/database-service.ts';
import { contextAt, NOW } from '../support/specification.ts';
import { goIsMissing, runGo } from './transparency-log/run-go.ts';

/** Three bundles, the last of which is partial. */
const EVENTS = 600;

const witness = createCosigner('witness.example', randomBytes(32));
const POLICY = `witness w ${witness.verifierKey.text}\nquorum w\n`;
const SIGNED_AT = 1_900_000_000;

interface Checkpoint {
  readonly size: number;
  readonly root_hash: string;
  readonly note: string;
}

describe.skipIf(goIsMissing)("an audit log that Go's transparency log reads over HTTP", () => {
  let service: DatabaseService;
  let baseUrl: string;
  let tree: string;
  let key: string;
  let token: string;
  let earlier: Checkpoint;

  const post = async (url: string, payload: object): Promise<unknown> =>
    (await service.request({ method: 'POST', url, key, payload })).json();
  const sign = async (): Promise<Checkpoint> => (await post('/v1/audit/checkpoints', {})) as Checkpoint;

  const fill = async (): Promise<void> => {
    const { store, system } = service.deps.context;
    const data = { organizationId: tree, what: 'suppressions' as const, subjectId: null, percent: 100 };
    const events = Array.from({ length: EVENTS }, () => ({ id: system.uuid(), type: 'DataRead' as const, data }));
    const stream = readingStream(system.uuid());
    await store.append({ stream, expected: 'no-stream', events, context: contextAt(NOW, tree) });
  };

  const cosign = ({ note }: Checkpoint): Promise<void> =>
    noteCosignature(service.deps.context, {
      tree,
      note,
      line: witness.signatureLine(parseNote(note).text, SIGNED_AT).trimEnd(),
    });

  const readByGo = (by: string, { size, root_hash: root }: Checkpoint = earlier) =>
    runGo('served', [baseUrl, tree, String(size), root], { OUTBOX_TOKEN: by });

  beforeAll(async () => {
    service = await startDatabaseService({ witnessPolicy: parsePolicy(POLICY) });
    baseUrl = await service.server.listen({ host: '127.0.0.1', port: 0 });
    tree = await service.makeOrganization();
    key = (await service.makeKey(tree, await service.makeDomain(tree, 'go.test'))).value;
    const auditor = { name: 'Ann', expires_at: '2099-01-01T00:00:00Z' };
    token = ((await post('/v1/audit/auditors', auditor)) as { token: string }).token;
    await fill();
    earlier = await sign();
    await fill();
  });
  afterAll(() => service.close());

  test('is complete up to its checkpoint, which the log and the witness of its policy have signed', async () => {
    const newest = await sign();
    await expect(readByGo(token)).rejects.toThrow('not signed by all of the policy');
    await cosign(newest);
    await expect
      .poll(
        async () => {
          const { body } = await service.request({ url: `/v1/audit/tlog/${tree}/checkpoint`, key: token });
          return signedAt(parseNote(body), parseVerifierKey(witness.verifierKey.text));
        },
        { timeout: 20_000 },
      )
      .toBe(SIGNED_AT);
    const { tiles, ...found } = (await readByGo(token)) as { tiles: number };
    expect(found).toEqual({ leaves: newest.size, signatures: 2 });
    expect(tiles).toBeLessThan(20);
    await expect(readByGo(token, { ...earlier, root_hash: newest.root_hash })).rejects.toThrow('does not continue');
    await expect(readByGo(`${token}x`)).rejects.toThrow('401');
  });
});
