import { randomUUID } from 'node:crypto';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { SUBJECT_CHARACTERS_MAX, sendRequestBody } from '../../http/resources/messages/send-body.ts';
import { BODY_CHARACTERS_MAX } from '../../http/resources/messages/send-fields.ts';
import type { Service } from '../customer/service.ts';
import { printable, printableLine } from '../terminal.ts';
import { CONFIRM_MINUTES, type Confirmations } from './confirm.ts';
import { data, failed, orFailure, said } from './results.ts';

/**
 * Sends mail for a model, but only after a person has seen it. The client asks its user (elicitation), or the tool must
 * be called again with a token for exactly this mail.
 */

const SHOWN_CHARACTERS_MAX = 1_000;
const RECIPIENTS_MAX = 50;
const ID_CHARACTERS_MAX = 100;

const described = <Schema extends z.ZodType>(name: keyof typeof sendRequestBody.shape, schema: Schema): Schema =>
  schema.describe(sendRequestBody.shape[name].description ?? name);

const address = z.string().max(1_000);
const addresses = z.union([address, z.array(address).min(1).max(RECIPIENTS_MAX)]);

/** Fields of `POST /v1/messages/send`, passed on unchanged; the service validates them. */
const mail = {
  from: described('from', address.optional()),
  to: described('to', addresses),
  cc: described('cc', addresses.optional()),
  bcc: described('bcc', addresses.optional()),
  reply_to: described('reply_to', addresses.optional()),
  subject: described('subject', z.string().max(SUBJECT_CHARACTERS_MAX).optional()),
  text: described('text', z.string().max(BODY_CHARACTERS_MAX).optional()),
  html: described('html', z.string().max(BODY_CHARACTERS_MAX).optional()),
  template: described(
    'template',
    z
      .strictObject({
        id: z.string().max(ID_CHARACTERS_MAX),
        version: z.int().min(1).optional(),
        locale: z.string().max(ID_CHARACTERS_MAX).optional(),
        variables: z.record(z.string(), z.unknown()).optional(),
      })
      .optional(),
  ),
  tags: described('tags', z.array(z.strictObject({ name: z.string(), value: z.string() })).optional()),
  stream: described('stream', z.enum(['transactional', 'bulk']).optional()),
  scheduled_at: described('scheduled_at', z.string().max(ID_CHARACTERS_MAX).optional()),
};
type Mail = z.output<z.ZodObject<typeof mail>>;

const shorten = (text: string): string =>
  text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)} … (${text.length} characters)` : text;

/** The mail as shown to the person who confirms it, recipients first. */
const shownMail = (sent: Mail): string => {
  const fields = Object.entries(sent).filter(([, value]) => value !== undefined);
  const lines = fields.map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${name}: ${shorten(name === 'text' || name === 'html' ? printable(text) : printableLine(text))}`;
  });
  return lines.join('\n');
};

interface SendResponse {
  readonly id: string;
  readonly status: string;
}

export interface SendOptions {
  /** Identifies the caller. */
  readonly by: string;
  readonly confirmations: Confirmations;
  /** True if mail is sent without confirmation. */
  readonly sendsAtOnce: boolean;
}

/** Cancellation of a call. */
export type Extra = { readonly signal: AbortSignal };

export const addSending = (server: McpServer, options: SendOptions, serviceFor: (extra: Extra) => Service): void => {
  const { confirmations, by, sendsAtOnce } = options;

  const send = async (extra: Extra, body: object, idempotencyKey: string): Promise<CallToolResult> =>
    data((await serviceFor(extra).ask<SendResponse>('POST', '/v1/messages/send', { body, idempotencyKey })).body);

  const askPerson = async (extra: Extra, body: Mail): Promise<CallToolResult> => {
    const answer = await server.server.elicitInput(
      {
        message: `Send this mail?\n\n${shownMail(body)}`,
        requestedSchema: {
          type: 'object',
          properties: { send: { type: 'boolean', title: 'Send it', default: false } },
          required: ['send'],
        },
      },
      { signal: extra.signal },
    );
    if (answer.action === 'accept' && answer.content?.send === true) return send(extra, body, `mcp-${randomUUID()}`);
    return said('The person did not agree: nothing was sent.');
  };

  const askAgain = (body: Mail): CallToolResult =>
    said(
      `Nothing was sent yet. Show this mail to the person you work for. If they agree, call send_message again within ${CONFIRM_MINUTES} minutes with exactly the same fields and confirmation_token "${confirmations.tokenFor(body, by)}".\n\n${shownMail(body)}`,
    );

  const confirmed = async (extra: Extra, body: Mail, token: string): Promise<CallToolResult> => {
    const right = confirmations.check(token, body, by);
    if (right !== null) return send(extra, body, right.idempotencyKey);
    return failed(
      'confirmation_token is not of this mail, or is too old: nothing was sent. Call send_message without it for another',
    );
  };

  const canAsk = (): boolean => server.server.getClientCapabilities()?.elicitation !== undefined;

  const decide = async (extra: Extra, body: Mail, token: string | undefined): Promise<CallToolResult> => {
    if (sendsAtOnce) return send(extra, body, `mcp-${randomUUID()}`);
    if (token !== undefined) return confirmed(extra, body, token);
    return canAsk() ? askPerson(extra, body) : askAgain(body);
  };

  server.registerTool(
    'send_message',
    {
      title: 'Send a message',
      description: sendsAtOnce
        ? 'Sends an email at once.'
        : 'Sends an email once a person has agreed: their program asks them, or the first call answers with a token to call it with again.',
      inputSchema: z.strictObject({
        ...mail,
        confirmation_token: z
          .string()
          .max(ID_CHARACTERS_MAX)
          .optional()
          .describe('From the call before, for this very mail.'),
      }),
      annotations: { destructiveHint: true, openWorldHint: true },
    },
    ({ confirmation_token: token, ...body }, extra) => orFailure(() => decide(extra, body, token)),
  );
};
