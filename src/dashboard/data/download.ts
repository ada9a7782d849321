/** Keeps the object URL alive this long. Revoking it before the browser starts to write would cancel the download. */
const KEPT_MS = 60_000;

/** Saves a file through the browser's download mechanism. */
export const saveFile = (name: string, contents: Blob): void => {
  const url = URL.createObjectURL(contents);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
};
