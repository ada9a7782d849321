import { expect, test } from 'vitest';
import { outbox, useCustomer } from './customer.ts';

const { now, env, receive } = useCustomer();

test('outbox inbound lists and shows received mail', async () => {
  const id = await receive(`support@${now.domain}`);
  const listed = await outbox(['inbound', 'list', '--subject', 'order'], { env: env() });
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  const shown = await outbox(['inbound', 'show', id, '--json'], { env: env() });
  expect(JSON.parse(shown.stdout)).toMatchObject({ id, text: 'Thanks!\n\n> Hello', reply: 'Thanks!' });
  const all = await outbox(['inbound', 'list'], { env: env() });
  expect(all.stdout).toMatch(new RegExp(`^ID +RECEIVED +SUBJECT\n${id} .* Re: Order 42\n`));
  const missing = await outbox(['inbound', 'show', 'inb_x'], { env: env() });
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('inbound message not found') });
});
