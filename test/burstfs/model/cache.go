package model

import "container/list"

const defaultBlockBytes = 16 << 10

// block is a piece of a file.
type block struct {
	file  uint64
	index int64
}

// cache records which blocks the server's cache contains, the most recently used first.
type cache struct {
	blockBytes int64
	capacity   int
	order      *list.List
	blocks     map[block]*list.Element
}

func newCache(config Cache) *cache {
	size := config.BlockBytes
	if size == 0 {
		size = defaultBlockBytes
	}
	return &cache{blockBytes: size, capacity: int(config.Bytes / size), order: list.New(), blocks: map[block]*list.Element{}}
}

// span returns the first block of a range and the block after its last.
func (c *cache) span(offset, bytes int64) (first, end int64) {
	return offset / c.blockBytes, (offset + bytes + c.blockBytes - 1) / c.blockBytes
}

// holds reports whether all blocks of a range are in the cache.
func (c *cache) holds(file uint64, offset, bytes int64) bool {
	first, end := c.span(offset, bytes)
	for i := first; i < end; i++ {
		if _, ok := c.blocks[block{file, i}]; !ok {
			return false
		}
	}
	return true
}

// keep makes the blocks of a range the most recently used, and evicts the least recently used if the cache is full.
func (c *cache) keep(file uint64, offset, bytes int64) {
	first, end := c.span(offset, bytes)
	for i := first; i < end; i++ {
		key := block{file, i}
		if element, ok := c.blocks[key]; ok {
			c.order.MoveToFront(element)
			continue
		}
		c.blocks[key] = c.order.PushFront(key)
	}
	for len(c.blocks) > c.capacity {
		c.remove(c.order.Back())
	}
}

// drop removes the blocks of a range.
func (c *cache) drop(file uint64, offset, bytes int64) {
	first, end := c.span(offset, bytes)
	for i := first; i < end; i++ {
		if element, ok := c.blocks[block{file, i}]; ok {
			c.remove(element)
		}
	}
}

// forget removes all blocks of a file.
func (c *cache) forget(file uint64) {
	for key, element := range c.blocks {
		if key.file == file {
			c.remove(element)
		}
	}
}

func (c *cache) remove(element *list.Element) {
	delete(c.blocks, element.Value.(block))
	c.order.Remove(element)
}
