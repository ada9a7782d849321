import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { median } from '../harness/line.ts';
import { openService, type Service } from '../harness/open-service.ts';
import { openSmtpSink } from '../harness/open-smtp-sink.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';

/** Maximum time from the 202 until the mail server has the message. */
const FLOOR = { of: 'figure', atMost: 8 } as const;
const MESSAGES = 20;
/** Long enough that nothing of the previous message is in flight. */
const PAUSE_MS = 100;
const ACCEPTED = 202;

const nowMs = (): number => performance.timeOrigin + performance.now();

/** Resolves with the time of the response. */
const send = ({ baseUrl, key }: Service, agent: Agent): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sending = request(`${baseUrl}/v1/messages/send`, { method: 'POST', agent, headers }, (response) => {
      const atMs = nowMs();
      response.resume();
      if (response.statusCode === ACCEPTED) resolve(atMs);
      else reject(new Error(`answered ${response.statusCode}`));
    });
    sending.once('error', reject);
    sending.end(SAMPLE_REQUESTS[0]);
  });

/** Time from a single request on an idle system until the mail server has answered 250. */
export const latency: Measure = {
  name: 'latency',
  run: async (bench) => {
    const sink = await openSmtpSink(bench.closers);
    const service = await openService(bench, { mailUrl: sink.url });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    bench.closers.add('agent', async () => agent.destroy());
    const fromAnswer: number[] = [];

    const round = async (): Promise<number> => {
      const whole: number[] = [];
      const after: number[] = [];
      for (let sent = 0; sent < MESSAGES; sent += 1) {
        await sleep(PAUSE_MS);
        const taken = sink.next();
        const beganMs = nowMs();
        const answeredMs = await send(service, agent);
        const takenMs = await taken;
        whole.push(takenMs - beganMs);
        after.push(takenMs - answeredMs);
      }
      fromAnswer.push(median(after));
      return median(whole);
    };

    const { whole } = await interleave({ rounds: bench.rounds, warmUps: 1 }, { whole: round });
    return [
      { measure: 'request → SMTP 250, idle, p50', unit: 'ms', rounds: whole },
      { measure: '202 → SMTP 250, idle, p50', unit: 'ms', rounds: fromAnswer.slice(-bench.rounds), floor: FLOOR },
    ];
  },
};
