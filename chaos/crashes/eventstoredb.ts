import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueCertificate } from '../../test/support/certificates.ts';
import { startEventStoreDbCluster } from '../../test/support/eventstoredb-double/cluster.ts';
import { startEventStoreDbDouble } from '../../test/support/eventstoredb-double/start.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import { newFolder } from '../harness/folder.ts';
import type { Scenario } from '../harness/scenario.ts';
import { inWorld } from './in-world.ts';
import { passingOf } from './passing.ts';
import { sendAll } from './send-all.ts';

/** With EventStoreDB, vault and log are on different servers: contents are committed first, separately. */
const POINTS: readonly FailPointName[] = [
  'before-contents-put',
  'after-contents-put',
  'before-append-accepted',
  'after-append-accepted',
  'after-append-started',
  'after-mail-send',
  'after-append-outcome',
  'before-checkpoint',
  'after-webhook-record',
];

const LOOK_MS = 20;

const diesAt = (point: FailPointName): Scenario => ({
  name: `with the log in EventStoreDB, killed ${point}`,
  run: async (seed) => {
    const double = await startEventStoreDbDouble();
    try {
      return await inWorld({ log: { EVENTSTORE_URL: double.url } }, async ({ programs, load }) => {
        await programs.startToDie({ OUTBOX_FAIL_POINT: passingOf(point, seed) });
        await sendAll(load);
        await programs.died();
        await programs.start();
      });
    } finally {
      await double.close();
    }
  },
});

/** The leader writes an append, dies before it answers, and another node is elected while requests fail. */
const leaderDies: Scenario = {
  name: 'with the log in a cluster of three with TLS, whose leader dies under load',
  run: async () => {
    const folder = await newFolder();
    const authority = issueCertificate({});
    const cluster = await startEventStoreDbCluster(issueCertificate({ names: ['localhost'], issuer: authority }));
    const authorityFile = join(folder.path, 'ca.pem');
    await writeFile(authorityFile, authority.certificate);
    try {
      const log = { EVENTSTORE_URL: `esdb://${cluster.hosts}?tls=true&tlsCAFile=${authorityFile}` };
      return await inWorld({ log }, async ({ programs, load, disturbances }) => {
        await programs.start();
        cluster.badDays.unacknowledgedAppends = 1;
        const sending = sendAll(load);
        while (cluster.badDays.unacknowledgedAppends > 0) await sleep(LOOK_MS);
        disturbances.now('the leader died');
        await sending;
        cluster.elect();
        disturbances.now('another leader was elected');
      });
    } finally {
      await cluster.close();
      await folder.remove();
    }
  },
};

export const EVENTSTOREDB_CRASHES: readonly Scenario[] = [...POINTS.map(diesAt), leaderDies];
