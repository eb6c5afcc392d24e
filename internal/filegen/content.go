package filegen

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
)

// block is the size in bytes of one unit of content: a random part followed by a repetitive part.
const block = 4 << 10

// words lists the words of the repetitive part of a block.
var words = [...]string{
	"the ", "storage ", "quarterly ", "report ", "of ", "invoice ", "meeting ", "photo ", "and ", "table ", "total ", "draft ",
	"2026 ", "customer ", "page ", "project ",
}

// content writes the bytes of one file.
type content struct {
	random  *rand.ChaCha8
	percent int
}

func newContent(seed uint64, index, percent int) *content {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(index)) //nolint:gosec // not negative
	return &content{random: rand.NewChaCha8(key), percent: percent}
}

func (c *content) writeTo(w io.Writer, size int64) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	buffer := make([]byte, block)
	for left := size; left > 0; {
		part := buffer[:min(left, block)]
		c.fill(part)
		if _, err := buffered.Write(part); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		left -= int64(len(part))
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func (c *content) fill(part []byte) {
	random := len(part) * (100 - c.percent) / 100
	_, _ = c.random.Read(part[:random]) // ChaCha8.Read never fails.
	rest := part[random:]
	if len(rest) == 0 {
		return
	}
	choice := c.random.Uint64()
	filled := 0
	for range 3 {
		filled += copy(rest[filled:], words[choice%uint64(len(words))])
		choice /= uint64(len(words))
	}
	for filled < len(rest) {
		filled += copy(rest[filled:], rest[:filled])
	}
}
