// Witnesses (C2SP tlog-cosignature) for the verifiers in this folder, and the checks that end them.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// A witness's key (C2SP tlog-cosignature, "Ed25519 signed message"), which x/mod does not support.
type cosigner struct {
	name    string
	public  ed25519.PublicKey
	private ed25519.PrivateKey
}

func newCosigner(vkey string) note.Verifier {
	parts := strings.SplitN(vkey, "+", 3)
	key := must(base64.StdEncoding.DecodeString(parts[2]))
	require(key[0] == 4 && len(key) == 33, vkey)
	c := cosigner{parts[0], key[1:], nil}
	require(c.vkey() == vkey, vkey)
	return c
}

func (c cosigner) key() []byte { return append([]byte{4}, c.public...) }

func (c cosigner) vkey() string {
	return fmt.Sprintf("%s+%08x+%s", c.name, c.KeyHash(), base64.StdEncoding.EncodeToString(c.key()))
}

func (c cosigner) Name() string { return c.name }

func (c cosigner) KeyHash() uint32 {
	id := sha256.Sum256(append([]byte(c.name+"\n"), c.key()...))
	return binary.BigEndian.Uint32(id[:])
}

func cosigned(time []byte, text []byte) []byte {
	return []byte(fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(time), text))
}

func (c cosigner) Verify(text, signature []byte) bool {
	return len(signature) == 72 && ed25519.Verify(c.public, cosigned(signature, text), signature[8:])
}

func (c cosigner) Sign(text []byte) ([]byte, error) {
	time := binary.BigEndian.AppendUint64(nil, 1700000000)
	return append(time, ed25519.Sign(c.private, cosigned(time, text))...), nil
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func require(holds bool, what ...any) {
	if !holds {
		log.Fatal(what...)
	}
}
