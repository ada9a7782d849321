import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { SerializedSession } from '../../http/resources/members/members.ts';
import { type Invocation, optional, type PlainCommand } from '../command.ts';
import { resolveTarget, resolveUrl, type Target } from '../customer/profile.ts';
import { createService } from '../customer/service.ts';
import { type Terminal, UsageError } from '../terminal.ts';

/** The MCP server: Outbox for programs that use a language model. Only this command loads the MCP library. */

const PORT = /^\d{1,5}$/;
const PORT_MAX = 65_535;

const portOf = (invocation: Invocation): number | undefined => {
  const text = optional(invocation, 'http');
  if (text === undefined) return undefined;
  if (PORT.test(text) && Number(text) <= PORT_MAX) return Number(text);
  throw new UsageError('--http must be a port, or 0 for any free port');
};

const createServers = async ({ values }: Invocation) => {
  const { createMcpServer } = await import('./server.ts');
  const { createConfirmations } = await import('./server.ts');
  const { version } = await import('../../composition/instances.ts');
  const shared = {
    confirmations: createConfirmations(),
    sendsAtOnce: values['no-confirm'] === true,
    version: await version(),
  };
  return (target: Target) => {
    const by = createHash('sha256')
      .update(target.key ?? target.session ?? '')
      .digest('base64');
    return createMcpServer({ ...shared, target, by });
  };
};

/** Serves until the client closes standard input or a signal arrives. Standard output is reserved for the protocol. */
const serveStdio = async (invocation: Invocation, { signal }: Terminal): Promise<void> => {
  const target = await resolveTarget(optional(invocation, 'profile'));
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const server = (await createServers(invocation))(target);
  const transport = new StdioServerTransport();
  const closed = Promise.race([once(process.stdin, 'end'), once(process.stdin, 'close'), once(signal, 'abort')]);
  await server.connect(transport);
  await closed;
  await server.close();
};

const serveLoopback = async (invocation: Invocation, port: number, { signal, print }: Terminal): Promise<void> => {
  const url = await resolveUrl(optional(invocation, 'profile'));
  const { serveHttp } = await import('./http.ts');
  const serverOf = await createServers(invocation);
  const served = await serveHttp({
    port,
    serverFor: async (key) => {
      const target: Target = { url, key, profile: null };
      // Rejects an invalid key when the session opens instead of at its first call.
      const { body } = await createService({ target, signal }).ask<SerializedSession>('GET', '/v1/session');
      return { server: serverOf(target), organizationId: body.organization.id };
    },
  });
  print({ url: served.url }, () => served.url);
  if (!signal.aborted) await once(signal, 'abort');
  await served.close();
};

export const mcpCommand: PlainCommand = {
  name: 'mcp',
  usage: '[--http PORT] [--no-confirm] [--profile NAME]',
  summary:
    'serves tools to a language model client (Model Context Protocol) over standard input and output, or over HTTP on loopback, where each request carries its API key',
  needs: 'nothing',
  endsBySignal: true,
  run: async (invocation, terminal) => {
    const port = portOf(invocation);
    await (port === undefined ? serveStdio(invocation, terminal) : serveLoopback(invocation, port, terminal));
    return undefined;
  },
};
