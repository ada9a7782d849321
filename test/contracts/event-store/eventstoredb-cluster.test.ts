import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Append, AppendOutcomeUnknown, LOG_START } from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { issueCertificate } from '../../support/certificates.ts';
import { type EventStoreDbCluster, startEventStoreDbCluster } from '../../support/eventstoredb-double/cluster.ts';
import { openEventStoreDb } from './eventstoredb-store.ts';
import { follow } from './following.ts';
import { events, first, newStream, textsOf } from './samples.ts';

let folder: string;
const authority = issueCertificate({});
const certificate = issueCertificate({ names: ['localhost'], issuer: authority });
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outbox-cluster-'));
  await writeFile(join(folder, 'ca.pem'), authority.certificate);
});
afterAll(() => rm(folder, { recursive: true }));

const open = async () => {
  const cluster = await startEventStoreDbCluster(certificate);
  const store = openEventStoreDb(`esdb://${cluster.hosts}?tls=true&tlsCAFile=${join(folder, 'ca.pem')}`);
  onTestFinished(async () => {
    await store.close();
    await cluster.close();
  });
  return { cluster, store };
};

/** Repeats an append with the same events until it is answered, as commands do. */
const appendUntilAnswered = async ({ append }: ReturnType<typeof openEventStoreDb>, one: Append): Promise<Error[]> => {
  const faults: Error[] = [];
  for (;;) {
    try {
      await append(one);
      return faults;
    } catch (error) {
      if (!(error instanceof AppendOutcomeUnknown || error instanceof StoreUnavailable)) throw error;
      faults.push(error);
    }
  }
};

/** Streams with more or fewer events than the one that each got. */
const wrongStreams = ({ log }: EventStoreDbCluster, appends: readonly Append[]): readonly string[] => {
  const counts = new Map<string, number>();
  for (const { stream } of log.records) counts.set(stream, (counts.get(stream) ?? 0) + 1);
  return appends.flatMap(({ stream }) => (counts.get(stream) === 1 ? [] : `${stream}: ${counts.get(stream)}`));
};

describe('a cluster of three with TLS whose leader dies', () => {
  it('gets each append once, also those that the leader wrote and did not answer, and followers read them all', async () => {
    const { cluster, store } = await open();
    const following = follow(store, LOG_START);
    const appends = Array.from({ length: 60 }, (_, index) => first(newStream(), events(1, `m${index}-`)));
    const [before, under] = [appends.slice(0, 20), appends.slice(20)];
    for (const one of before) expect(await appendUntilAnswered(store, one)).toEqual([]);
    await following.saw(20);

    cluster.badDays.unacknowledgedAppends = 1; // it dies right after a write
    const writing = Promise.all(under.map((one) => appendUntilAnswered(store, one)));
    await expect.poll(() => cluster.badDays.unacknowledgedAppends, { timeout: 20_000 }).toBe(0);
    await expect(store.append(first(newStream(), events(1)))).rejects.toThrow();
    cluster.elect();

    const faults = (await writing).flat();
    expect(faults.some((fault) => fault instanceof AppendOutcomeUnknown)).toBe(true);
    expect(wrongStreams(cluster, appends)).toEqual([]);
    await following.saw(60);
    await following.stop();
    expect(textsOf(following.events()).toSorted()).toEqual(appends.map((_, index) => `m${index}-0`).toSorted());
  });

  it('is refused if the certificate of its nodes is not trusted, with what to do', async () => {
    const cluster = await startEventStoreDbCluster(
      issueCertificate({ names: ['localhost'], issuer: issueCertificate({}) }),
    );
    const store = openEventStoreDb(`esdb://${cluster.hosts}?tls=true&tlsCAFile=${join(folder, 'ca.pem')}`);
    onTestFinished(async () => {
      await store.close();
      await cluster.close();
    });
    await expect(store.append(first(newStream(), events(1)))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(cluster.log.records.filter(({ stream }) => !stream.startsWith('$'))).toEqual([]);
  });
});
