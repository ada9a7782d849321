import { endpoint } from '../endpoint.ts';
import { submissionSchema } from '../schemas/submission.ts';

export const getSubmissionRoute = endpoint(
  'GET /v1/submission',
  {
    summary: 'Get the SMTP submission servers',
    description:
      'Settings for programs that can only send by SMTP. The password is an API key with `send`; the user name is ' +
      'ignored. docs/smtp.md describes which messages are accepted.',
    answer: submissionSchema,
    etag: false,
  },
  async (_call, { deps: { submissionServers } }) => ({
    object: 'submission',
    user: 'outbox',
    servers: submissionServers.map(({ host, port, tls }) => ({ host, port, tls })),
  }),
);
