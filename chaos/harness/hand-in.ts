import { createTransport, type SendMailOptions } from 'nodemailer';

/** What any server or client does with a mail that it keeps until it is answered 250. @returns whether it was. */
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
