import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSystem } from '../../src/adapters/system.ts';
import { createCosignedCheckpoints, createWitnessServer } from '../../src/cli/witness/serve-witness.ts';
import { treeOf } from '../../src/domain/audit/leaf.ts';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import {
  createCosigner,
  parseNote,
  parseVerifierKey,
  signedAt,
  type VerifierKey,
} from '../../src/lib/transparency/transparency.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import { newFolder } from '../harness/folder.ts';
import type { Environment } from '../harness/programs.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import type { World } from '../harness/world.ts';
import { untilInLog } from './as-operator.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

const EVERY_SECOND = { AUDIT_INTERVAL: '1' };
const LOOKS_MAX = 150;

/** Starts a witness outside the programs, so that their crashes do not affect it. */
const startWitness = async () => {
  const folder = await newFolder();
  const signer = createCosigner('witness.example', randomBytes(32));
  /** Keys of the logs that the witness knows. Tests may add more. */
  const logs: VerifierKey[] = [];
  const server = createWitnessServer({
    logs,
    cosigned: createCosignedCheckpoints(folder.path, signer),
    system: createSystem(),
    onFault: (error) => console.error(error),
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const policy = join(folder.path, 'policy');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(policy, `witness w ${signer.verifierKey.text} ${url}\nquorum w\n`);
  return {
    logs,
    key: signer.verifierKey,
    env: { ...EVERY_SECOND, AUDIT_WITNESSES: policy } satisfies Environment,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await folder.remove();
    },
  };
};

type Witness = Awaited<ReturnType<typeof startWitness>>;

const signedIn = (log: readonly RecordedEvent[]) =>
  log.flatMap((event) => (event.type === 'CheckpointSigned' ? [{ tree: treeOf(event), ...event.data }] : []));
const cosignedIn = (log: readonly RecordedEvent[]) =>
  log.flatMap((event) => (event.type === 'CheckpointCosigned' ? [{ tree: treeOf(event), ...event.data }] : []));

/** True if the newest checkpoints of the logs known to the witness are cosigned. */
const isAllCosigned = (log: readonly RecordedEvent[], logs: readonly VerifierKey[]): boolean => {
  const known = signedIn(log).filter(({ vkey }) => logs.some(({ text }) => text === vkey));
  const newest = new Map(known.map(({ tree, size }) => [tree, size]));
  const cosigned = new Map(cosignedIn(log).map(({ tree, size }) => [tree, size]));
  return newest.size > 0 && [...newest].every(([tree, size]) => cosigned.get(tree) === size);
};

/** Every recorded cosignature must be the witness's, match a signed checkpoint and appear once. */
const eachIsOfTheWitness =
  (key: VerifierKey) =>
  ({ events }: Pick<Evidence, 'events'>): readonly Violation[] => {
    const notes = new Map(signedIn(events).map(({ tree, size, note }) => [`${tree} ${size}`, note]));
    const seen = new Set<string>();
    const problems = cosignedIn(events).flatMap(({ tree, size, lines }) => {
      const place = `${tree} ${size}`;
      const isRepeated = seen.has(place);
      seen.add(place);
      const note = parseNote(`${notes.get(place) ?? '\n\n'}${lines.join('\n')}\n`);
      const isRight = !isRepeated && lines.length === 1 && (signedAt(note, key) ?? 0) > 0;
      return isRight ? [] : [`the cosignature of ${size} leaves of ${tree} is repeated, or of something else`];
    });
    return problems.map((what) => ({ promise: 'scenario', what }));
  };

const cosignedAfterDeath = async (
  { programs, load, observed }: World,
  { logs, env }: Witness,
  point: FailPointName,
): Promise<void> => {
  await programs.start(EVERY_SECOND);
  await sendAll(load);
  const isSigned = (log: readonly RecordedEvent[]): boolean => {
    logs.push(...signedIn(log).map(({ vkey }) => parseVerifierKey(vkey)));
    return logs.length > 0;
  };
  await untilInLog({ observed }, isSigned, { looksMax: LOOKS_MAX, never: 'the log was not signed' });
  programs.kill();
  await programs.died();
  await programs.startToDie({ OUTBOX_FAIL_POINT: point, ...env });
  await programs.died();
  await programs.start(env);
  const never = 'a checkpoint was not cosigned';
  await untilInLog({ observed }, (log) => isAllCosigned(log, logs), { looksMax: LOOKS_MAX, never });
};

const diesOfCosigning = (point: FailPointName): Scenario => ({
  name: `killed ${point} by the cosignature of a witness`,
  run: async () => {
    const witness = await startWitness();
    try {
      const more = eachIsOfTheWitness(witness.key);
      return await inWorld({}, (world) => cosignedAfterDeath(world, witness, point), { more });
    } finally {
      await witness.close();
    }
  },
});

/** A cosignature missing from the log is requested again. The witness returns one only for the same tree. */
export const COSIGNATURE_CRASHES: readonly Scenario[] = [
  diesOfCosigning('before-append-cosignature'),
  diesOfCosigning('after-append-cosignature'),
];
