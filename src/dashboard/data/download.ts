/** Until the browser has surely begun to write the file. */
const KEPT_MS = 60_000;

/** Hands a file to the browser, which keeps it where downloads go. */
export const saveFile = (name: string, contents: Blob): void => {
  const url = URL.createObjectURL(contents);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
};
