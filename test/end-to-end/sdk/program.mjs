// A program written by a user of the package, run in every runtime. Prints its results as JSON.
// Usage: program.mjs <file to attach> <a webhook as received, JSON> <URL of a server that fails twice>
import { createOutbox, NotFoundError } from 'outbox-sdk';

const MAIL = { from: 'Shop <a@example.test>', to: 'b@example.net', subject: 'x', html: '<p>x</p>' };

/** @param flaky a client whose first two tries fail. */
export const run = async ({ outbox, flaky, file, webhook }) => {
  const attachments = [{ filename: 'a.bin', content: file }];
  const { id } = await outbox.messages.send({ ...MAIL, attachments });
  const content = await outbox.messages.getContent(id);
  const listed = [];
  for await (const message of outbox.messages.list({ limit: 1 })) listed.push(message.id);
  const streamed = [];
  for await (const { event, cursor } of outbox.events.stream({ after: 'start', types: 'message.accepted' })) {
    streamed.push(event.type, typeof cursor);
    break;
  }
  const error = await outbox.messages.get('msg_none').catch((refused) => refused);
  const ended = new AbortController();
  const streaming = outbox.events.stream({ types: 'topic.created' }, { signal: ended.signal }).next();
  setTimeout(() => ended.abort(new Error('enough')), 500);
  return {
    attached: content.attachments.map(({ filename, content: { length } }) => [filename, length]),
    isListed: listed.includes(id),
    streamed,
    error: [error instanceof NotFoundError, error.name, error.status, typeof error.requestId],
    aborted: await streaming.catch(({ message }) => message),
    event: (await outbox.webhooks.verify(webhook)).type,
    flaky: (await flaky.messages.send({ ...MAIL, attachments })).id,
  };
};

if (globalThis.process?.argv !== undefined) {
  const [, , path, webhook, baseUrl] = process.argv;
  const { openAsBlob } = await import('node:fs');
  const file = globalThis.Bun === undefined ? await openAsBlob(path) : Bun.file(path);
  const clients = { outbox: createOutbox(), flaky: createOutbox({ baseUrl }) };
  process.stdout.write(JSON.stringify(await run({ ...clients, file, webhook: JSON.parse(webhook) })));
}
