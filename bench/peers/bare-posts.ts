import { Agent, request } from 'undici';
import type { Closers } from '../../src/composition/lifecycle.ts';
import { signWebhook } from '../../src/domain/webhook/webhook.ts';
import type { System } from '../../src/lib/async/async.ts';

const CONNECTIONS = 32;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
/** Same length as the post of a message event. */
const BODY = JSON.stringify({ type: 'message.accepted', data: 'x'.repeat(600) });

/** Posts with the service's HTTP client and signatures, but without log, claims and records. */
export const openBarePosts = (closers: Closers, { url, system }: { readonly url: string; readonly system: System }) => {
  const agent = new Agent({ connections: CONNECTIONS, pipelining: 1 });
  closers.add('bare posts', () => agent.close());
  return {
    connections: CONNECTIONS,
    post: async (): Promise<number> => {
      const signed = signWebhook([SECRET], { id: system.uuid(), at: system.now(), body: BODY });
      const headers = { 'content-type': 'application/json', ...signed };
      const { body } = await request(url, { method: 'POST', headers, body: BODY, dispatcher: agent });
      await body.dump();
      return 1;
    },
  };
};
