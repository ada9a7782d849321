import { join } from 'node:path';
import type { Bench } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { type Floor, type Line, skippedLine } from '../harness/line.ts';
import { openSmtpSink, type SmtpSink } from '../harness/open-smtp-sink.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { openWay } from '../harness/send-through.ts';
import { until } from '../harness/until.ts';
import { openBareSignatures } from '../peers/bare-signatures.ts';
import { openNodemailerPool } from '../peers/nodemailer-pool.ts';
import { openOpendkim } from '../peers/opendkim.ts';
import { isInstalled, openPostfix } from '../peers/postfix.ts';
import { rsaKey } from '../peers/rsa-key.ts';

const MESSAGES = 3_000;
const SECOND_MS = 1_000;
/** V8 optimizes code during the first ten thousand messages of a process. */
const WARM_UPS = 2;

interface Peer {
  readonly measure: string;
  readonly what: string;
  /** Why it cannot be measured here. */
  readonly missing: string | null;
  readonly floor?: Floor;
  /**
   * @returns a function that runs one round. It returns the messages per second that reached the other side, or could
   * have.
   */
  open(): Promise<() => Promise<number>>;
}

const timed = async (work: () => Promise<void>): Promise<number> => {
  const beganMs = performance.now();
  await work();
  return (MESSAGES * SECOND_MS) / (performance.now() - beganMs);
};

const requireSigned = async (sink: SmtpSink, who: string): Promise<void> => {
  const unsigned = MESSAGES - (await sink.takeSigned());
  if (unsigned > 0) throw new Error(`${who} left ${unsigned} messages unsigned`);
};

const openPool = async ({ closers }: Bench, signed: boolean): Promise<() => Promise<number>> => {
  const sink = await openSmtpSink(closers);
  const privateKey = signed ? rsaKey().export({ type: 'pkcs8', format: 'pem' }).toString() : null;
  const send = openNodemailerPool(closers, { port: sink.port, privateKey });
  const samples = Array.from({ length: MESSAGES }, (_, at) => SAMPLE_REQUESTS[at % SAMPLE_REQUESTS.length] ?? '');
  return async () => {
    const perSecond = await timed(() => send(samples));
    if (signed) await requireSigned(sink, 'nodemailer');
    return perSecond;
  };
};

/** A relay with its own SMTP input, queue and SMTP output. It syncs each message before it confirms it. */
const openRelay = async ({ closers, folder }: Bench, name: string, signed: boolean): Promise<() => Promise<number>> => {
  const sink = await openSmtpSink(closers);
  const milter = signed ? await openOpendkim(closers, join(folder, `${name}-opendkim`)) : null;
  const postfix = await openPostfix(closers, { folder: join(folder, name), relayPort: sink.port, milter });
  return async () => {
    const perSecond = await timed(async () => {
      const before = await sink.count();
      await postfix.handIn(MESSAGES);
      await until("all of Postfix's mail", async () => (await sink.count()) - before >= MESSAGES);
    });
    if (signed) await requireSigned(sink, 'opendkim');
    return perSecond;
  };
};

const unsignedPeers = async (bench: Bench): Promise<readonly Peer[]> => {
  const missing = (await isInstalled('postfix', 'smtp-source')) ? null : 'postfix is not installed';
  return [
    {
      measure: "end to end, beside nodemailer's pool",
      what: "nodemailer's pool, no queue",
      missing: null,
      open: () => openPool(bench, false),
    },
    {
      measure: 'end to end, beside Postfix',
      what: 'Postfix, SMTP in',
      missing,
      open: () => openRelay(bench, 'postfix', false),
    },
  ];
};

const signedPeers = async (bench: Bench): Promise<readonly Peer[]> => {
  const hasAll = await isInstalled('postfix', 'smtp-source', 'opendkim');
  return [
    {
      measure: "end to end with DKIM, beside nodemailer's pool",
      what: "nodemailer's pool that signs, no queue",
      missing: null,
      floor: { of: 'ratio', atLeast: 2.2 },
      open: () => openPool(bench, true),
    },
    {
      measure: 'end to end with DKIM, beside Postfix',
      what: 'Postfix and opendkim',
      missing: hasAll ? null : 'postfix or opendkim is not installed',
      floor: { of: 'ratio', atLeast: 3 },
      open: () => openRelay(bench, 'postfix-signed', true),
    },
    {
      measure: 'end to end with DKIM, compared with the bound of RSA',
      what: 'signatures of RSA-2048 alone',
      missing: null,
      floor: { of: 'ratio', atLeast: 0.2 },
      open: async () => openBareSignatures(),
    },
  ];
};

/** Measures ours and all peers alternately. */
const besideEach = async (bench: Bench, peers: readonly Peer[], signs: boolean): Promise<readonly Line[]> => {
  const way = await openWay(bench, { signs });
  const present = peers.filter(({ missing }) => missing === null);
  const turns = await Promise.all(present.map(async ({ what, open }) => [what, await open()] as const));
  const contenders: Readonly<Record<string, () => Promise<number>>> = {
    ...Object.fromEntries(turns),
    ours: async () => (await way.pass()).perSecond,
  };
  const figures = await interleave({ rounds: bench.rounds, warmUps: WARM_UPS }, contenders);
  const cpuMicros = way.cpu.lastMicros(bench.rounds);
  return peers.map(({ measure, what, missing, floor }): Line => {
    if (missing !== null) return skippedLine(measure, 'messages/s', missing);
    const line: Line = { measure, unit: 'messages/s', rounds: figures.ours ?? [], cpuMicros, ...(floor && { floor }) };
    return { ...line, limit: { what, rounds: figures[what] ?? [] } };
  });
};

/**
 * Messages per second from the request to the outcome in the log, compared with the time that peers need to pass them
 * on.
 */
export const mailBesidePeers = async (bench: Bench): Promise<readonly Line[]> => [
  ...(await besideEach(bench, await signedPeers(bench), true)),
  ...(await besideEach(bench, await unsignedPeers(bench), false)),
];
