import { join } from 'node:path';
import type { Bench } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { type Line, skippedLine } from '../harness/line.ts';
import { openSmtpSink } from '../harness/open-smtp-sink.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { openWay } from '../harness/send-through.ts';
import { until } from '../harness/until.ts';
import { openNodemailerPool } from '../peers/nodemailer-pool.ts';
import { openOpendkim } from '../peers/opendkim.ts';
import { isInstalled, openPostfix } from '../peers/postfix.ts';

const MESSAGES = 3_000;
const SECOND_MS = 1_000;

interface Peer {
  readonly measure: string;
  readonly what: string;
  /** Why it cannot be measured here. */
  readonly missing: string | null;
  /** @returns messages a second until all are at the other side. */
  open(): Promise<() => Promise<number>>;
}

const timed = async (work: () => Promise<void>): Promise<number> => {
  const beganMs = performance.now();
  await work();
  return (MESSAGES * SECOND_MS) / (performance.now() - beganMs);
};

const nodemailer = ({ closers }: Bench): Peer => ({
  ...{ measure: "end to end, beside nodemailer's pool", what: "nodemailer's pool, no queue", missing: null },
  open: async () => {
    const sink = await openSmtpSink(closers);
    const send = openNodemailerPool(closers, sink.port);
    const samples = Array.from({ length: MESSAGES }, (_, at) => SAMPLE_REQUESTS[at % SAMPLE_REQUESTS.length] ?? '');
    return () => timed(() => send(samples));
  },
});

/** Its own SMTP in, its own queue, SMTP out; each message is synced before it is answered for. */
const openRelay = async ({ closers, folder }: Bench, name: string, signed: boolean): Promise<() => Promise<number>> => {
  const sink = await openSmtpSink(closers);
  const milter = signed ? await openOpendkim(closers, join(folder, `${name}-opendkim`)) : null;
  const postfix = await openPostfix(closers, { folder: join(folder, name), relayPort: sink.port, milter });
  return () =>
    timed(async () => {
      const before = await sink.count();
      await postfix.handIn(MESSAGES);
      await until("all of Postfix's mail", async () => (await sink.count()) - before >= MESSAGES);
      const unsigned = MESSAGES - (await sink.takeSigned());
      if (signed && unsigned > 0) throw new Error(`opendkim left ${unsigned} messages unsigned`);
    });
};

const postfixPeers = async (bench: Bench): Promise<readonly Peer[]> => {
  const hasPostfix = await isInstalled('postfix', 'smtp-source');
  const hasSigner = hasPostfix && (await isInstalled('opendkim'));
  return [
    {
      ...{ measure: 'end to end, beside Postfix', what: 'Postfix, SMTP in' },
      missing: hasPostfix ? null : 'postfix is not installed',
      open: () => openRelay(bench, 'postfix', false),
    },
    {
      ...{ measure: 'end to end (unsigned), beside Postfix that signs', what: 'Postfix and opendkim' },
      missing: hasSigner ? null : 'postfix or opendkim is not installed',
      open: () => openRelay(bench, 'postfix-signed', true),
    },
  ];
};

/** Messages from the request to the outcome in the log, beside what others need to hand them on. */
export const mailBesidePeers = async (bench: Bench): Promise<readonly Line[]> => {
  const way = await openWay(bench);
  const ours = async (): Promise<number> => (await way.pass()).perSecond;
  const lines: Line[] = [];
  for (const { measure, what, missing, open } of [nodemailer(bench), ...(await postfixPeers(bench))]) {
    if (missing !== null) {
      lines.push(skippedLine(measure, 'messages/s', missing));
      continue;
    }
    const peer = await open();
    const figures = await interleave({ rounds: bench.rounds, warmUps: 1 }, { ours, peer });
    lines.push({ measure, unit: 'messages/s', rounds: figures.ours, limit: { what, rounds: figures.peer } });
  }
  return lines;
};
