import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { provision, SENDING_DOMAIN } from '../../bench/harness/provision.ts';
import { openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { deliveryReport } from '../workers/inbound-reports/receiving.ts';
import { openSmtpSink, type SmtpSink } from '../workers/smtp-sink.ts';

describe('delivered mail that comes back', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let sink: SmtpSink;
  let api: ApiClient;
  let id: string;

  const shown = async () => (await api.get(`/v1/messages/${id}`)).body;

  beforeAll(async () => {
    data = await newDataDir();
    sink = await openSmtpSink();
    const env = {
      DATA_DIR: data.path,
      MAIL_URL: sink.url,
      LOG_LEVEL: 'info',
      BOUNCE_DOMAIN: 'bounces.example.test',
      BOUNCE_PORT: '0',
    };
    program = await startProgram({ dataDir: data.path, env });
    const operator = await openOperator(readConfig(env));
    api = apiClient(program.baseUrl, await provision(operator.context, { signs: false }).finally(operator.close));
    const sent = await api.post('/v1/messages/send', {
      from: `shop@${SENDING_DOMAIN}`,
      to: ['ann@example.net', 'bob@example.org'],
      subject: 'Hello',
      text: 'Hello',
    });
    id = sent.body.id;
    await eventually(shown, ({ status }) => status === 'delivered');
    const port = Number(/"port":(\d+)[^\n]*receiving bounces and complaints/.exec(program.output())?.[1]);
    const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
    const raw = deliveryReport({ address: 'bob@example.org' });
    await transport.sendMail({
      envelope: { from: '', to: [sink.mails.find(({ to }) => to.includes('bob@example.org'))?.from ?? ''] },
      raw,
    });
    transport.close();
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await sink.close();
    await data.remove();
  });

  test('is shown as bounced, with the reason', async () => {
    expect(await shown()).toMatchObject({
      status: 'delivered',
      partial: true,
      recipients: [
        { address: 'ann@example.net', status: 'delivered', category: null },
        {
          address: 'bob@example.org',
          status: 'bounced',
          category: 'no_mailbox',
          smtp: {
            code: 550,
            enhanced: '5.1.1',
            text: '550 5.1.1 <bob@example.org>: User unknown',
            mx: 'mx.example.org',
          },
        },
      ],
    });
  });

  test('causes an event that is marked as late', async () => {
    const events = (await api.get('/v1/events?types=message.bounced')).body.data;
    expect(events).toMatchObject([
      { data: { recipient: { address: 'bob@example.org' }, category: 'no_mailbox', late: true, attempt: 1 } },
    ]);
  });

  test('is reported as bounced instead of delivered, and is billed', async () => {
    expect((await api.get('/v1/stats')).body.totals).toMatchObject({ accepted: 2, delivered: 1, bounced: 1 });
    expect((await api.get('/v1/billing/usage')).body).toMatchObject({ billable_recipients: 2 });
  });

  test('leaves no address in the logs', () => {
    expect(program.output()).toContain('recorded an inbound report');
    expect(program.output()).not.toMatch(/ann@|bob@/);
  });
});
