import { SENDING_DOMAIN } from './provision.ts';

const HTML_BYTES = 1300;
const RECIPIENT_DOMAINS = ['example.com', 'example.net', 'example.org', 'mail.example', 'post.example'];
const REQUESTS = 100;

const ROW =
  '<tr><td align="left" style="padding:4px 8px">One pair of shoes, size 42 &amp; a half</td><td>59.90</td></tr>';
const HEAD =
  '<!doctype html><html><head><title>Your order</title></head><body bgcolor="#ffffff"><h1>Thank you!</h1><table role="presentation" width="600">';
const TAIL =
  '</table><p>It is on its way. <a href="https://shop.example/orders/1">See your order</a></p></body></html>';

const html = (() => {
  const rows = Math.ceil((HTML_BYTES - HEAD.length - TAIL.length) / ROW.length);
  return HEAD + ROW.repeat(rows) + TAIL;
})();

/** Bodies of sends, 1.3 kB of HTML each, to different recipients. */
export const SAMPLE_REQUESTS: readonly string[] = Array.from({ length: REQUESTS }, (_, number) =>
  JSON.stringify({
    from: `Shop <orders@${SENDING_DOMAIN}>`,
    to: `customer${number}@${RECIPIENT_DOMAINS[number % RECIPIENT_DOMAINS.length]}`,
    subject: `Your order ${1000 + number}`,
    html,
    tags: [{ name: 'kind', value: 'order' }],
  }),
);

export const BATCH_PATH = '/v1/messages/batch';
export const BATCH_MESSAGES = 100;

const sampleAt = (number: number): string => SAMPLE_REQUESTS[number % SAMPLE_REQUESTS.length] ?? '';

/** Body of a batch of them. */
export const BATCH = `{"messages":[${Array.from({ length: BATCH_MESSAGES }, (_, number) => sampleAt(number)).join(',')}]}`;
