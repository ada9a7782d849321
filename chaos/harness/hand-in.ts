import { createTransport, type SendMailOptions } from 'nodemailer';

/** Submits a mail once, like a client that keeps it until it gets a 250. @returns true if it got one. */
export const handIn = async (
  server: { readonly port: number; readonly auth?: { readonly user: string; readonly pass: string } },
  mail: SendMailOptions,
): Promise<boolean> => {
  const transport = createTransport({ host: '127.0.0.1', ignoreTLS: true, ...server });
  try {
    await transport.sendMail(mail);
    return true;
  } catch {
    return false;
  } finally {
    transport.close();
  }
};
